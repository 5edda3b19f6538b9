// The real Claude Code, with a scripted model behind it.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createMock } from './mock-llm/server.mjs'
import { Sandbox, TOP, all, input, sse, text } from './lib/sandbox.mjs'

const cpu = { x64: 'x64', arm64: 'arm64' }[process.arch]
const claude = join(TOP, `t/e2e/node_modules/@anthropic-ai/claude-code-linux-${cpu}/claude`)

/** What the "model" says; the first match over a request with all its history wins. */
const scenario = {
  name: 'e2e',
  routes: [
    { match: 'plain please', turns: [{ blocks: [{ text: 'Just a few words.' }] }] },
    {
      match: 'make a file',
      turns: [
        { blocks: [{ text: 'Writing it.' }, { tool: { shell: { command: 'echo made in the sandbox > made-by-claude.txt' } } }] },
        { blocks: [{ text: 'The file is there.' }] },
      ],
    },
    { match: 'which word', turns: [{ blocks: [{ text: 'You told me a word.' }] }] },
    { match: 'remember the word', turns: [{ blocks: [{ text: 'I will remember it.' }] }] },
  ],
  turns: [{ blocks: [{ text: 'Nothing special.' }] }],
}

let mock
let sandbox
let bin

before(async () => {
  assert.ok(existsSync(claude), 'the pinned Claude Code is installed')
  mock = createMock({ scenario, workdir: '/workspace', logBodies: true })
  const { url } = await mock.listen()

  // where workers that are another user can read it
  bin = mkdtempSync(join(tmpdir(), 'sandbox-claude-'))
  chmodSync(bin, 0o755)
  mkdirSync(join(bin, 'bin'))
  copyFileSync(claude, join(bin, 'bin/claude'))
  chmodSync(join(bin, 'bin/claude'), 0o755)

  sandbox = await Sandbox.start({
    AGENT: 'claude',
    PATH: `${bin}/bin:${process.env.PATH}`,
    ANTHROPIC_API_KEY: 'mock-key-of-the-tests',
    ANTHROPIC_BASE_URL: url,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '2',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
  })
})

after(async () => {
  await sandbox?.close()
  await mock?.close()
  if (bin) rmSync(bin, { recursive: true, force: true })
})

async function run(threadId, prompt, more) {
  const response = await sandbox.post(input(threadId, prompt, more))
  assert.equal(response.status, 200, await (response.ok ? '' : response.text()))
  const chunks = (await all(sse(response))).map((e) => e.chunk)
  assert.equal(chunks[0].type, 'RUN_STARTED')
  assert.equal(chunks.at(-1).type, 'RUN_FINISHED', JSON.stringify(chunks.at(-1)))
  return chunks
}

test('plain text', { timeout: 120000 }, async () => {
  const chunks = await run('claude-plain', 'plain please')
  assert.equal(text(chunks), 'Just a few words.')
})

test('a tool call that really writes a file in the sandbox', { timeout: 120000 }, async () => {
  const chunks = await run('claude-tool', 'make a file')
  const start = chunks.find((c) => c.type === 'TOOL_CALL_START')
  assert.equal(start.toolCallName, 'Bash')

  const args = chunks.filter((c) => c.type === 'TOOL_CALL_ARGS' && c.toolCallId === start.toolCallId)
  assert.match(JSON.parse(args.map((c) => c.delta).join('')).command, /made-by-claude\.txt$/)
  assert.ok(chunks.some((c) => c.type === 'TOOL_CALL_RESULT' && c.toolCallId === start.toolCallId))
  assert.match(text(chunks), /The file is there\.$/)
  assert.equal(sandbox.files('made-by-claude.txt').length, 1)
})

test('two turns: the second one is the same conversation', { timeout: 120000 }, async () => {
  await run('claude-two', 'remember the word "persimmon"')
  const before = mock.requests.length
  const chunks = await run('claude-two', 'which word was it?')
  assert.equal(text(chunks), 'You told me a word.')

  // the model was shown the first turn, by the CLI's own session and not by our prompt
  const bodies = mock.requests.slice(before).map((r) => JSON.stringify(r.body ?? r))
  assert.ok(bodies.some((b) => b.includes('persimmon') && b.includes('I will remember it.')))
})

test('the key is nowhere but in the environment of the agent', { timeout: 120000 }, () => {
  const { status, stdout } = spawnSync('grep', ['-rla', 'mock-key-of-the-tests', sandbox.dir], { encoding: 'utf8' })
  assert.equal(stdout, '')
  assert.equal(status, 1)
})
