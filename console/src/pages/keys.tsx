// The keys of one's own tenant.
import { Page } from '../parts/page.tsx'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { KeysPanel } from './keys-panel.tsx'
import { LimitsPanel } from './limits.tsx'

export default function Keys() {
  const words = useWords()
  const { tenant } = useMe()
  return (
    <Page title={words.shell.keys} lead={words.keys.lead(tenant)}>
      <KeysPanel tenant={tenant} />
      <LimitsPanel />
    </Page>
  )
}
