import js from '@eslint/js'
import regexp from 'eslint-plugin-regexp'
import ts from 'typescript-eslint'

export default ts.config(
  {
    ignores: [
      '.cache/',
      'node_modules/',
      '.quicklink/',
      'loadtest/reports/',
      'loadtest/results/',
      'loadtest/k6/',
      'clients/typescript/api.ts',
      'clients/typescript/dist/',
      'cli/dist/',
      'console/dist*/',
    ],
  },
  js.configs.recommended,
  {
    files: ['**/*.{ts,tsx}'],
    extends: [ts.configs.strictTypeChecked, ts.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // The reason for the type-checked rules: a promise that nobody waits for is an error that nobody hears of.
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/require-await': 'error',
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',

      // `${number}` says what it means.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      // `return response.end()` is the usual way to leave early.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      // With noUncheckedIndexedAccess, `array[i] as T` after a check of `i` is the cheap way, and `!` the short one.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      // noPropertyAccessFromIndexSignature wants the opposite.
      '@typescript-eslint/dot-notation': 'off',
      // An empty string is as good as none where the environment is read.
      '@typescript-eslint/prefer-nullish-coalescing': ['error', { ignorePrimitives: { string: true } }],
      // Labels and rows are records on purpose; a type argument that is used once still documents a boundary.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      // Objects here are closures: their methods do not know `this`.
      '@typescript-eslint/unbound-method': 'off',
      // Two names for "nothing happens" are one too many.
      '@typescript-eslint/no-empty-function': 'off',
    },
  },
  {
    files: ['**/*.test.ts', '**/testing/**', '**/acceptance/**', '**/browser/**', '**/*.stub.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/require-await': 'off',
    },
  },
  {
    // A model runs these rooms in its own time, by the global timers and clocks: `pause` in connections/deadline.ts.
    files: ['server/{clicks,coherence,connections,hits,limits,links,quotas,rates,redirect}/**'],
    ignores: ['**/*.test.ts', '**/*.stub.ts'],
    rules: { 'no-restricted-imports': ['error', 'timers', 'timers/promises', 'node:timers', 'node:timers/promises'] },
  },
  {
    // V8 tries an expression anew at each position: what one stranger may send, everybody else waits for. What is left is
    // timed by server/expressions.test.ts.
    files: ['server/**/*.ts'],
    ignores: ['**/*.test.ts', '**/*.stub.ts', 'testing/**'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignoreSticky: false, ignorePartial: false }],
    },
  },
  {
    // What is run by a person writes to the terminal.
    files: [
      'scripts/**',
      'appliance/**',
      'cli/**',
      'console/build.ts',
      'console/browser/**',
      'embedded/**',
      'loadtest/**',
      '**/testing/**',
    ],
    rules: { 'no-console': 'off' },
  },
  {
    files: ['**/*.{js,cjs,mjs}'],
    languageOptions: { globals: { process: 'readonly', console: 'readonly', module: 'writable' } },
  },
)
