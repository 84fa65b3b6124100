import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { format, resolveConfig } from 'prettier'
import ts from 'typescript'
import { describe } from '../server/api/openapi.ts'
import { operations } from '../testing/operations.ts'

const has = (node: ts.Node, isSo: (member: ts.TypeElement) => boolean): boolean =>
  ts.isPropertySignature(node) && node.type !== undefined && ts.isTypeLiteralNode(node.type) && node.type.members.every(isSo) // prettier-ignore

const isNever = (node: ts.Node): boolean =>
  ts.isPropertySignature(node) && node.type?.kind === ts.SyntaxKind.NeverKeyword

/** Headers of which only is said that there may be some. */
const isUnknown = (node: ts.Node): boolean =>
  ts.isIndexSignatureDeclaration(node) && node.type.kind === ts.SyntaxKind.UnknownKeyword

/** An answer without content is told by it. */
const isContent = ({ name }: ts.TypeElement): boolean => name !== undefined && ts.isIdentifier(name) && name.text === 'content' // prettier-ignore

/**
 * openapi-typescript also lists what there is not: methods of a path, parameters, headers. Where it is all that is listed, it
 * stays, because where nothing is declared anything may be given; but a path has its operations, which have parameters of their own.
 */
function withoutNothing(node: ts.Node, isPath: boolean): ts.Node {
  const seen = ts.visitEachChild(node, (child) => withoutNothing(child, isPath), undefined)
  if (!ts.isTypeLiteralNode(seen)) return seen
  const isNothing = (each: ts.TypeElement): boolean =>
    has(each, isUnknown) || (isNever(each) && !isContent(each)) || (isPath && has(each, isNever))
  const told = seen.members.filter((each) => !isNothing(each))
  return told.length === 0 ? seen : ts.factory.updateTypeLiteralNode(seen, ts.factory.createNodeArray(told))
}

export async function apiTypes(): Promise<string> {
  const file = 'clients/typescript/api.ts'
  const nodes = await openapiTS(describe(operations) as unknown as OpenAPI3, { alphabetize: true })
  const isPaths = (node: ts.Node): boolean => ts.isInterfaceDeclaration(node) && node.name.text === 'paths'
  const text = astToString(nodes.map((node) => withoutNothing(node, isPaths(node))))
  const why = 'Long because all of it is here.'
  const head = `// The types of the API, made from its description by npm run -s client. ${why}\n\n`
  return format(head + text, { ...(await resolveConfig(file)), filepath: file })
}
