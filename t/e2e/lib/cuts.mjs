// Where to cut a response, and a client's work at each of these places.
//
//   CUTS=all   at every byte of the response, not only at the interesting ones

import assert from 'node:assert/strict'
import { Relay, bytes } from './relay.mjs'

export const KINDS = ['rst', 'fin']
const EVERY = process.env.CUTS === 'all'

/** What the server sends for a request, byte for byte, as far as the end of the response. */
export async function recorded(port, path, more) {
  const relay = await Relay.start(port)
  await (await fetch(`${relay.url}${path}`, more)).text()
  const { sent } = relay.connections[0]
  relay.close()
  return sent
}

/** Where to cut a recorded response: at and around each line, inside lines and characters, and all of its end. */
export function places(raw, from = 0) {
  const found = new Set()
  const body = raw.indexOf('\r\n\r\n') + 4

  if (EVERY) {
    for (let i = from; i < raw.length; i++) found.add(i)
    return [...found]
  }

  for (const i of [1, body / 2, body - 1, body]) found.add(Math.floor(i))

  for (let start = body; start < raw.length;) {
    const lf = raw.indexOf('\n', start)
    const end = lf < 0 ? raw.length : lf + 1
    for (const i of [start, start + 3, (start + end) / 2, end - 1]) found.add(Math.floor(i))
    const wide = raw.subarray(start, end).findIndex((byte) => byte >= 0x80)
    if (wide >= 0) for (const i of [1, 2, 3]) found.add(start + wide + i)
    start = end
  }

  for (let i = raw.lastIndexOf('}'); i < raw.length; i++) found.add(i)

  return [...found].filter((i) => i >= from && i < raw.length).sort((a, b) => a - b)
}

/** Runs check(relay, at, how) for each place and kind of cut, many at a time. */
export async function eachCut(port, list, check, { width = 128 } = {}) {
  const jobs = list.flatMap((at) => KINDS.map((how) => ({ at, how })))
  const failures = []

  await Promise.all(Array.from({ length: width }, async () => {
    for (let job; (job = jobs.pop());) {
      const relay = await Relay.start(port, [{ at: typeof job.at === 'number' ? bytes(job.at) : job.at, how: job.how }])
      try {
        await check(relay, job.at, job.how)
      } catch (e) {
        failures.push({ ...job, error: e })
      }
      relay.close()
    }
  }))

  if (failures.length) {
    const shown = failures.slice(0, 5).map(({ at, how, error }) => `${how} at ${at}: ${error.stack}`)
    assert.fail(`${failures.length} of ${list.length * KINDS.length} cuts:\n${shown.join('\n')}`)
  }
}
