// The people of one's own tenant.
import { Page } from '../parts/page.tsx'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { MembersPanel } from './panel.tsx'
import { useMemberWords } from './words.ts'

export default function Members() {
  const words = useWords()
  const { lead } = useMemberWords()
  const { tenant } = useMe()
  return (
    <Page title={words.shell.members} lead={lead(tenant)}>
      <MembersPanel tenant={tenant} />
    </Page>
  )
}
