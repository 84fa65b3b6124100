// clients/typescript/api.ts: the types of the API, made from its description.   npm run -s client
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir } from '../embedded/paths.ts'
import { apiTypes } from './client-types.ts'

writeFileSync(join(projectDir, 'clients/typescript/api.ts'), await apiTypes())
