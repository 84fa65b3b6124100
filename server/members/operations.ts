// What the API offers about members.
import { z } from 'zod'
import { allOf, idOf, linkOnceShown, mustBe, tenantIdGiven, tenantShown, textOf, timeShown } from '../api/fields.ts'
import { operationsOf, roles } from '../api/operation.ts'
import { limits } from '../limits.ts'

const operation = operationsOf('Members')

const given = ['viewer', 'editor', 'admin'] as const
const name = textOf(1, 200).meta({ description: 'What the links show that it makes.', examples: ['Ada'] })
const role = z
  .enum(given, mustBe(`one of: ${given.join(', ')}`))
  .meta({ description: 'What it may do, at most as much as you.' })

const newMember = z
  .strictObject(
    { name, role, tenant: tenantIdGiven.optional().meta({ description: 'Of another tenant: for the owner.' }) },
    mustBe('a JSON object'),
  )
  .meta({ id: 'NewMember' })
const memberChange = z
  .strictObject({ name: name.optional(), role: role.optional() }, mustBe('a JSON object'))
  .refine((patch) => Object.keys(patch).length > 0, 'must name at least one field to change')
  .meta({ id: 'MemberChange', minProperties: 1 })

const memberFields = {
  id: z.string().meta({ examples: ['member_5Kd2vXgWm1Qz'] }),
  tenant: tenantShown,
  name: z.string(),
  role: z.enum(roles),
  by: z.enum(['invitation', 'oidc']).meta({ description: 'How it signs in.' }),
  state: z.enum(['invited', 'joined']),
  createdAt: timeShown,
  signedInAt: timeShown.nullable().meta({ description: 'When it has signed in last.' }),
}
const member = z.object(memberFields).meta({ id: 'Member' })
const memberOnce = z.object({ ...memberFields, invitation: linkOnceShown }).meta({ id: 'MemberOnce' })
export type MemberShown = z.input<typeof member>

const params = z.object({
  id: idOf('member', { description: 'The id of a member.', examples: ['member_5Kd2vXgWm1Qz'] }),
})

export const createMember = operation('createMember', 'post', '/members', 'admin', {
  summary: 'Invite a member',
  about: `The link in the answer signs it in, once, within ${limits.invitationDays} days. A tenant has at most ${limits.membersPerTenant} members.`,
  body: { schema: newMember, example: { name: 'Ada', role: 'editor' } },
  answer: { status: 201, what: 'The member, and its link, this once.', schema: memberOnce, headers: ['Location'] },
  problems: ['conflict', 'not_found'],
})

export const listMembers = operation('listMembers', 'get', '/members', 'admin', {
  summary: 'List members',
  about: "The newest first, of one's own tenant unless the owner names another one.",
  query: z.strictObject({ tenant: tenantIdGiven.optional().meta({ description: 'Of this tenant: for the owner.' }) }),
  answer: { status: 200, what: 'All of them.', schema: allOf(member, 'Members') },
})

export const readMember = operation('readMember', 'get', '/members/{id}', 'admin', {
  summary: 'Read a member',
  params,
  answer: { status: 200, what: 'The member.', schema: member },
})

export const changeMember = operation('changeMember', 'patch', '/members/{id}', 'admin', {
  summary: 'Change a member',
  about: 'A merge patch. It holds within a second, for sessions that are open, too.',
  params,
  body: { schema: memberChange, example: { role: 'viewer' } },
  answer: { status: 200, what: 'The member as it is now.', schema: member },
  problems: ['conflict'],
})

export const deleteMember = operation('deleteMember', 'delete', '/members/{id}', 'admin', {
  summary: 'Remove a member',
  about: 'Its sessions and its link end within a second. What it has made stays.',
  params,
  answer: { status: 204, what: 'It is removed.' },
})

export const inviteMember = operation('inviteMember', 'post', '/members/{id}/invitation', 'admin', {
  summary: 'Make a new link for a member',
  about: 'For whoever has lost the link, or whose sessions are over. The link before is void.',
  params,
  answer: { status: 201, what: 'The link, this once.', schema: linkOnceShown },
  problems: ['conflict'],
})
