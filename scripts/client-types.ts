import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { format, resolveConfig } from 'prettier'
import ts from 'typescript'
import { describe } from '../server/api/openapi.ts'
import { operations } from '../testing/operations.ts'

const has = (node: ts.Node, isSo: (member: ts.TypeElement) => boolean): boolean =>
  ts.isPropertySignature(node) && node.type !== undefined && ts.isTypeLiteralNode(node.type) && node.type.members.every(isSo) // prettier-ignore

/** A property that nothing can be, or in which nothing can be. */
const isNever = (node: ts.Node): boolean =>
  (ts.isPropertySignature(node) && node.type?.kind === ts.SyntaxKind.NeverKeyword) || has(node, isNever)

const isUnknown = (node: ts.Node): boolean =>
  ts.isIndexSignatureDeclaration(node) && node.type.kind === ts.SyntaxKind.UnknownKeyword

const without = (isIdle: (node: ts.Node) => boolean, node: ts.Node): ts.Node | undefined =>
  isIdle(node) ? undefined : ts.visitEachChild(node, (child) => without(isIdle, child), undefined)

/** openapi-typescript also lists the methods that a path does not have, and says of all headers that there may be some. */
const whatIsSaid = (node: ts.Node): ts.Node => {
  const isPaths = ts.isInterfaceDeclaration(node) && node.name.text === 'paths'
  return without(isPaths ? isNever : (each) => has(each, isUnknown), node) ?? node
}

export async function apiTypes(): Promise<string> {
  const file = 'clients/typescript/api.ts'
  const nodes = await openapiTS(describe(operations) as unknown as OpenAPI3, { alphabetize: true })
  const text = astToString(nodes.map(whatIsSaid))
  const why = 'Long because all of it is here.'
  const head = `// The types of the API, made from its description by npm run -s client. ${why}\n\n`
  return format(head + text, { ...(await resolveConfig(file)), filepath: file })
}
