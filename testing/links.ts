// Links as tests make them.

/** Of a link that everybody is led by, at any time, as often as they like. */
export const plain = {
  permanent: false,
  startsAtS: null,
  expiresAtS: null,
  expiredUrl: null,
  forwardQuery: false,
  monthlyHits: null,
} as const
