// CPU of the npm reference on the same journal: bytes -> lines -> JSON.parse ->
// translator -> JSON of an SSE event.
//
//     node translate_peer.mjs JOURNAL LINES ROUNDS
//
// prints nanoseconds of CPU a line, the best round of them.  What the reference
// does around that (logging, middleware, its event log) is left out, in its
// favour; ours counts fingerprints and the chain in.

import { readFileSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { translateSdkStream } from '@tanstack/ai-claude-code'

const PIECE = 65536
const [, , path, lines, rounds] = process.argv
const journal = readFileSync(path)

async function* messages() {
  const decoder = new StringDecoder('utf8')
  let rest = ''

  for (let at = 0; at < journal.length; at += PIECE) {
    const parts = (rest + decoder.write(journal.subarray(at, at + PIECE))).split('\n')
    rest = parts.pop()

    for (const line of parts) {
      const trimmed = line.trim()
      if (trimmed !== '') yield JSON.parse(trimmed)
    }
  }
}

async function once() {
  let id = 0
  let chunks = 0
  let bytes = 0
  const start = process.cpuUsage()

  const stream = translateSdkStream(messages(), {
    model: 'claude-sonnet-4-5',
    runId: 'run-1',
    threadId: 'thread-1',
    genId: () => `id-${id++}`,
  })

  for await (const chunk of stream) {
    if (chunk.type === 'TEXT_MESSAGE_CONTENT') {
      // the whole message so far, in each of its chunks: quadratic, and not
      // part of AG-UI; ours does not send it either
      chunk.content = undefined
      chunks++
    }

    bytes += `data: ${JSON.stringify(chunk)}\n\n`.length
  }

  const used = process.cpuUsage(start)

  if (chunks !== Number(lines) || bytes === 0) {
    throw new Error(`${chunks} chunks of ${lines} lines`)
  }

  return ((used.user + used.system) * 1000) / lines
}

let best = Infinity
for (let i = 0; i < Number(rounds); i++) best = Math.min(best, await once())

console.log(best.toFixed(0))
