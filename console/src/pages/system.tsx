// For the owner: what the public API tells of the server itself.
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { answerOf, api } from '../api.ts'
import { CachesPanel } from '../link/caches.tsx'
import { Field } from '../parts/fields.tsx'
import { Form, Page, Panel, Problem, sentenceOf, Waiting } from '../parts/page.tsx'
import { pageState } from '../state.ts'
import '../styles/system.css'
import { Ladder } from '../system/ladder.tsx'
import { Beside, Checks } from '../system/panels.tsx'
import { useSystem } from '../system/use-system.ts'
import { useSystemWords } from '../system/words.ts'
import { useFormats, useWords } from '../words/words.tsx'
import { LimitsPanel } from './limits.tsx'
import { Act } from '../parts/act.tsx'

export default function System() {
  const words = useWords()
  const own = useSystemWords()
  const { version, commit, publicUrl } = pageState
  const { asked, flow } = useSystem()
  const system = asked.data
  return (
    <Page title={words.shell.system} lead={words.system.lead}>
      <Waiting of={asked} />
      {system && flow && (
        <div className="columns">
          <Ladder system={system} flow={flow} />
          <div className="aside">
            <Checks system={system} />
            <Beside system={system} />
          </div>
        </div>
      )}
      <Panel title={words.system.release}>
        <dl className="facts">
          <dt>{words.system.version}</dt>
          <dd>
            {version} ({commit})
          </dd>
          {system && (
            <>
              <dt>{own.node}</dt>
              <dd>{system.node}</dd>
              <dt>{own.uptime}</dt>
              <dd>{spanOf(system.uptimeS, own)}</dd>
            </>
          )}
          <dt>PUBLIC_URL</dt>
          <dd>{publicUrl}</dd>
          <dt>{words.system.api}</dt>
          <dd>
            <a href="/api/docs">/api/docs</a>
          </dd>
          {system?.links.grafana && (
            <>
              <dt>Grafana</dt>
              <dd>
                <a href={system.links.grafana}>{own.grafana}</a>
              </dd>
            </>
          )}
          {system?.links.runbook && (
            <>
              <dt>{own.runbook}</dt>
              <dd>
                <a href={system.links.runbook}>{system.links.runbook}</a>
              </dd>
            </>
          )}
        </dl>
      </Panel>
      <LimitsPanel />
      <LookUp />
      <Quotas />
    </Page>
  )
}

const spanOf = (seconds: number, own: ReturnType<typeof useSystemWords>): string => {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return own.minutes(minutes)
  return own.days(Math.floor(minutes / 1440), Math.floor((minutes % 1440) / 60))
}

function LookUp() {
  const words = useWords()
  const [text, setText] = useState('')
  const [code, setCode] = useState<string>()
  return (
    <>
      <Panel title={words.system.lookUp}>
        <Form className="stack" onSubmit={() => setCode(text.trim())}>
          <Field
            label={words.newLink.code}
            value={text}
            onChange={setText}
            about={words.system.lookUpAbout}
            suffix={
              <Button className="button" type="submit" isDisabled={text.trim() === ''}>
                {words.system.ask}
              </Button>
            }
          />
        </Form>
      </Panel>
      {code !== undefined && <CachesPanel key={code} link={{ code, domain: null }} />}
    </>
  )
}

function Quotas() {
  const words = useWords()
  const formats = useFormats()
  const sync = useMutation({ mutationFn: () => answerOf(api.POST('/quota/sync')) })
  return (
    <Panel
      title={words.system.quotas}
      aside={
        <Act className="button small" isPending={sync.isPending} onPress={() => sync.mutate()}>
          {words.system.count}
        </Act>
      }
    >
      <p className="about">{words.system.quotasAbout}</p>
      {sync.isError && <Problem>{sentenceOf(sync.error, words)}</Problem>}
      {sync.data && (
        <ul className="rows">
          {sync.data.items.map(({ tenant, used, before }) => (
            <li key={tenant}>
              <strong>{tenant}</strong>
              <span>{words.system.counted(formats.count(used), before === null ? '–' : formats.count(before))}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
