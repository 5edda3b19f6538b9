// An nginx with the module, a Redis and a scripted agent of a test's own, and
// stock nginx in front of it: what run.sh's one configuration has no place for.

import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Server, TOP, endProcesses, freePort, until } from './sandbox.mjs'

export const BUILD = process.env.SANDBOX_TEST_BUILD ?? join(TOP, 'build')

/** A plan that is soon told, with characters of two, three and four bytes. */
export const SHORT = `
  init s1
  say 'Grüße aus dem Süden'
  say '你好，世界'
  say 'ok 🙂🚀\\u2028\\r\\n.'
  result`

/** nginx, of this tree or the system's, in a directory of its own. */
export class Nginx extends Server {
  /** http: what stands in its http block. */
  static async start(dir, http, { binary = 'nginx', main = '', port, tls = false }) {
    const nginx = new Nginx()
    nginx.dir = dir
    nginx.port = port
    nginx.url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
    mkdirSync(join(dir, 'logs'), { recursive: true })

    writeFileSync(join(dir, 'nginx.conf'), `
      ${process.getuid() === 0 ? 'user root;' : ''}
      ${main}
      pid nginx.pid;
      error_log logs/error.log info;
      events { worker_connections 4096; }
      http {
        access_log off;
        client_body_temp_path tmp-body;
        proxy_temp_path tmp-proxy;
        fastcgi_temp_path tmp-fastcgi;
        scgi_temp_path tmp-scgi;
        uwsgi_temp_path tmp-uwsgi;
        ${http}
      }`)

    nginx.child = spawn(binary, ['-p', dir, '-e', join(dir, 'logs/error.log'), '-c', join(dir, 'nginx.conf'), '-g', 'daemon off;'],
      { stdio: ['ignore', 'inherit', 'inherit'] })
    nginx.gone = new Promise((done) => nginx.child.once('exit', (code) => done({ code })))

    const left = await Promise.race([nginx.gone, until('nginx has workers', () => nginx.workers().length > 0)])
    if (left.code !== undefined) throw new Error(`nginx ended with ${left.code}:\n${nginx.log()}`)
    return nginx
  }

  /** Resolves when the new workers are there; the old ones may still be leaving. */
  async reload() {
    const old = new Set(this.workers())
    this.child.kill('SIGHUP')
    await until('a new worker', () => this.workers().some((pid) => !old.has(pid)))
  }

  async close() {
    this.child.kill('SIGTERM')
    await this.gone
    return this.errors().map((line) => `${this.dir}: ${line}`)
  }
}

export class Stage {
  static async start(options = {}) {
    const stage = new Stage()
    try {
      await stage.#start(options)
    } catch (e) {
      await stage.close().catch(() => {})
      throw e
    }
    return stage
  }

  /** main, http, server(stage): more of nginx's configuration; harnesses: each gets a location of its name in /api/. */
  async #start({ main = '', http = '', server = () => '', harnesses = [] }) {
    this.dir = mkdtempSync(join(tmpdir(), 'sandbox-e2e-'))
    this.nginxes = []
    chmodSync(this.dir, 0o755)

    // the plan of a run is what its prompt names
    copyFileSync(join(TOP, 't/lib/agent.sh'), join(this.dir, 'agent.sh'))
    writeFileSync(join(this.dir, 'agent'), '#!/bin/sh\nread -r prompt\n. "${0%/*}/agent.sh"\n. "${0%/*}/plan-$prompt"\n', { mode: 0o755 })

    this.redis = spawn('redis-server', ['--port', '0', '--unixsocket', join(this.dir, 'redis.sock'), '--unixsocketperm', '777',
      '--dir', this.dir, '--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'], { stdio: 'ignore' })
    await until('redis-server is up', () => existsSync(join(this.dir, 'redis.sock')))

    const definition = (name, harness) => `
      sandbox ${name} {
        provider local ${this.dir}/sandboxes;
        isolation none;
        harness ${harness};
        agent_command ${this.dir}/agent;
      }`

    this.port = await freePort()
    this.module = (dir, port, more) => Nginx.start(join(this.dir, dir), `
      sandbox_redis unix:${this.dir}/redis.sock;
      sandbox_helper ${BUILD}/sandbox-helper;
      ${definition('t', 'claude_code')}
      ${harnesses.map((name) => definition(name, name)).join('')}
      ${http}
      server {
        listen 127.0.0.1:${port};
        location = /api/chat { sandbox_run t; }
        location = /api/chat.ndjson { sandbox_stream_format ndjson; sandbox_run t; }
        location = /api/chat/cancel { sandbox_cancel t; }
        ${harnesses.map((name) => `location = /api/${name} { sandbox_run ${name}; }`).join('\n')}
        ${server(this)}
      }`, { binary: join(BUILD, 'nginx'), main: `load_module ${BUILD}/ngx_http_sandbox_module.so; ${main}`, port, ...more })

    this.nginx = await this.module('nginx', this.port)
    this.nginxes.push(this.nginx)
    this.url = this.nginx.url
    this.chat = this.nginx.chat
  }

  /** One more nginx with the module, on the same Redis. */
  async replica(more) {
    const nginx = await this.module(`replica-${this.nginxes.length}`, await freePort(), more)
    this.nginxes.push(nginx)
    return nginx
  }

  /** A stock nginx whose server block is what the function makes of a port. */
  async hop(http, more = {}) {
    const port = await freePort()
    const nginx = await Nginx.start(join(this.dir, `hop-${this.nginxes.length}`), http(port), { port, ...more })
    this.nginxes.push(nginx)
    return nginx
  }

  /** A certificate for 127.0.0.1, as directives. */
  tls() {
    const file = join(this.dir, 'tls')
    if (!existsSync(`${file}.pem`)) {
      execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '7',
        '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', `${file}.key`, '-out', `${file}.pem`],
        { stdio: 'ignore' })
    }
    return `ssl_certificate ${file}.pem; ssl_certificate_key ${file}.key;`
  }

  /** What the agent does when this is its prompt: words of t/lib/agent.sh. */
  plan(name, script) {
    writeFileSync(join(this.dir, `.plan-${name}`), `${script}\n`)
    renameSync(join(this.dir, `.plan-${name}`), join(this.dir, `plan-${name}`))
  }

  open(gate) {
    writeFileSync(join(this.dir, `gate-${gate}`), '')
  }

  redisCli(...command) {
    return execFileSync('redis-cli', ['-s', join(this.dir, 'redis.sock'), ...command], { encoding: 'utf8' })
  }

  async close() {
    const bad = []
    for (const nginx of [...this.nginxes].reverse()) bad.push(...await nginx.close())
    this.redis?.kill('SIGKILL')
    await endProcesses(this.dir)
    if (process.env.SANDBOX_TEST_KEEP) console.error(`kept: ${this.dir}`)
    else rmSync(this.dir, { recursive: true, force: true })
    if (bad.length) throw new Error(`complaints in error.log:\n${bad.join('\n')}`)
  }
}
