# QuickLink's server. amd64 and arm64 by the same file: nothing here names an architecture.
ARG NODE_IMAGE=node:24.21.0-slim
ARG RUNTIME_IMAGE=debian:trixie-slim

FROM ${NODE_IMAGE} AS node
FROM node AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Optional packages are Node itself, which the image has. Maps, types and texts are for developers.
RUN --mount=type=cache,target=/root/.npm \
    npm ci --omit=dev --omit=optional --ignore-scripts \
 && find node_modules -type f \( -name '*.map' -o -name '*.md' -o -name '*.d.ts' -o -name '*.d.?ts' \) -delete

# The web console, made into files here: the image has none of what makes it.
FROM node AS console
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY tsconfig.json ./
COPY clients clients
COPY console console
RUN node console/build.ts

# Without npm, yarn and the rest of the Node image: half the size, and less to keep patched.
FROM ${RUNTIME_IMAGE}
LABEL org.opencontainers.image.title="QuickLink" \
      org.opencontainers.image.description="A self-hosted link shortener" \
      org.opencontainers.image.licenses="MIT"
RUN groupadd --gid 1000 quicklink \
 && useradd --uid 1000 --gid quicklink --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin quicklink \
 && install -d -o quicklink -g quicklink -m 0700 /data
COPY --from=node /usr/local/bin/node /usr/local/bin/node
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY server server
COPY clients clients
COPY cli cli
COPY --from=console /app/console/dist console/dist
RUN ln -s /app/cli/quicklink.ts /usr/local/bin/quicklink
# Last, because it changes with every commit.
ARG COMMIT=unknown
ARG VERSION=unknown
LABEL org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.version="${VERSION}"
RUN echo "${COMMIT}" >.commit
ENV NODE_ENV=production DATA_DIR=/data
USER 1000:1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT||9464}/livez`).then(r=>process.exit(+!r.ok),()=>process.exit(1))"]
# Node itself is process 1: it gets the signals, and waits for its workers.
CMD ["node", "--disable-sigusr1", "server/main.ts"]
