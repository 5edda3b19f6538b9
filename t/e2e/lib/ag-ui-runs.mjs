// ag-ui-runs.mjs URL...: runs @ag-ui/client twice against each, and prints for
// each what the first and the second run gave: types of events, or null for a
// failure.  A process of its own, because this client leaves the rejection of
// a reader that it cancels to nobody, which node:test takes for a failed test.

import { HttpAgent } from '@ag-ui/client'

process.on('unhandledRejection', () => {})

async function run(url) {
  const agent = new HttpAgent({ url, threadId: 'thread-1', initialMessages: [{ id: 'm1', role: 'user', content: 'short' }] })
  const types = []
  await agent.runAgent({ runId: 'run-1' }, { onEvent: ({ event }) => void types.push(event.type) })
  return types
}

const urls = process.argv.slice(2)
const failed = () => null

console.log(JSON.stringify(await Promise.all(urls.map(async (url) => [await run(url).catch(failed), await run(url).catch(failed)]))))
process.exit()
