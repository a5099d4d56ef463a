/** Reasons in Chinese. */
import { EXEC_TYPES, join, type Said, type Words } from './words'

const ended = (word: string) => (s: Said) => {
  if (s.v.node) return `在 ${s.task} ${word}：${s.v.message ?? ''}`
  if (s.v.message) return `${word}：${s.v.message}`
  return s.v.failures ? `${word}，途中有 ${s.v.failures} 个任务失败` : word
}

const DOES: Record<string, (worker: string) => string> = {
  work: (worker) => `正在 ${worker} 上运行`,
  verify: (worker) => `正由 ${worker} 验证`,
  plan: (worker) => `正由 ${worker} 规划`,
}
const QUEUED: Record<string, string> = { work: '已排队', verify: '等待结论', plan: '等待规划者' }

const stop = (s: Said) => (s.v.stopping ? '已请求停止' : undefined)
const lease = (s: Said, text: string) => `${s.task} ${DOES[s.v.role ?? 'work']?.(s.v.worker ?? '')}（${join('，', `第 ${s.v.attempt} 次尝试`, text, stop(s))}）`
const queue = (s: Said, text: string) => `${s.task} ${QUEUED[s.v.role ?? 'work']} ${s.passed}：${text}`
const more = (s: Said) => (s.v.until ? `，还剩 ${s.left}` : '')
const ahead = (s: Said) => `前面还有 ${s.v.ahead ?? 0} 个`
const waits = (s: Said, text: string) => `${s.v.node ? `${s.task} 在等待` : '等待开始'}：${text}`
const next = (s: Said) => `${s.left} 后轮到下一个`

const OWNERS: Record<string, string> = { tenant: '租户', task: '任务', run: '运行' }
const quota = (s: Said) =>
  `${s.v.project ? `项目 ${s.v.project}` : `租户 ${s.v.tenant}`} 的配额：${s.v.unit} 已用 ${s.v.used}，上限 ${s.v.most || '不限'}${s.v.wanted ? `，本任务需要 ${s.v.wanted}` : ''}`
const budget = (s: Said) => `${s.v.unit} 已用 ${s.v.used}，上限 ${s.v.most}`
const owner = (s: Said) => OWNERS[s.v.kind ?? ''] ?? s.v.kind

const making = (s: Said) => (s.v.env ? `${s.task} 等待环境 "${s.v.env}"：其 ${s.v.kind} 已创建 ${s.passed}${s.v.message ? `；${s.v.message}` : ''}` : `${s.task} 等待其环境`)
const podNote = (s: Said) => join('，', `第 ${s.v.attempt} 次尝试`, stop(s))
const pod = (s: Said, text: string) => (s.v.node ? `${s.task} 是 Pod ${s.v.pod}（${podNote(s)}）：${text}` : text)

function advice(kind: string): string {
  if (kind === 'container') return '请安装 podman 或 Docker 并用 --env-docker 启动服务器，或在有容器运行时的机器上执行 `windlass env-host --kinds container`'
  if (kind === 'browser') return '请安装 Chromium 并用 --env-browser 启动服务器，或在有浏览器的机器上执行 `windlass env-host --kinds browser`'
  if (kind === 'noop') return '请用 --env-noop 启动服务器'
  return '此版本没有相应的驱动'
}

export const zh: Words = {
  'run.succeeded': ended('成功'),
  'run.failed': ended('失败'),
  'run.cancelled': ended('已取消'),
  'run.beginning': () => '处于两步之间，下次提交后开始',
  'run.between': () => '处于两步之间，下次提交后继续',
  'run.unreadable': (s) => `此程序无法读取该运行的定义：${s.v.message}`,
  'lease.held': (s) => lease(s, `租约还剩 ${s.left}`),
  'lease.expired': (s) => lease(s, '租约已过期，正在收回'),
  'queue.no_worker': (s) =>
    queue(
      s,
      join(
        '；',
        `没有在线的 ${s.v.transport} 工作进程提供 "${s.v.service}"`,
        s.v.otherWorker && `${s.v.otherWorker} 通过 ${s.v.otherTransport} 提供它：请写 exec_type: ${EXEC_TYPES[s.v.otherTransport ?? ''] ?? ''}，或用 --transport ${s.v.transport} 启动`,
        !!s.v.failsAfterS && `${s.failsAfter} 内没有则失败`,
      ),
    ),
  'queue.busy': (s) => queue(s, `提供 "${s.v.service}" 的 ${s.v.workers ?? 0} 个 ${s.v.transport} 工作进程都在忙`),
  'queue.owner_busy': (s) => queue(s, `它属于工作进程 ${s.v.worker}，该进程正忙`),
  'queue.owner_away': (s) => queue(s, `它属于工作进程 ${s.v.worker}，该进程未通过 link 连接；放弃绑定后其他进程可以接手`),
  'queue.package_busy': (s) => queue(s, `拥有 ${s.v.package} 的 ${s.v.workers ?? 0} 个工作进程都在忙`),
  'queue.package_missing': (s) =>
    queue(
      s,
      join(
        '；',
        `link 上的 ${s.v.workers ?? 0} 个工作进程都没有 ${s.v.package}`,
        s.v.installWorker && (s.v.installError ? `工作进程 ${s.v.installWorker} 无法安装它：${s.v.installError}` : `${s.installing} 前已通知工作进程 ${s.v.installWorker} 安装它`),
      ),
    ),
  'queue.no_link': (s) => queue(s, `link 上没有工作进程拥有 ${s.v.package}；启动一个：\`windlass worker packages --transport link\``),
  'queue.pods_out': (s) => queue(s, 'Pod 数已达上限；见 --kube-pods'),
  'queue.no_launcher': (s) => queue(s, '没有服务器启动 Pod；请用 --kube-url、--kubeconfig 或 --kube-in-cluster 启动一个'),
  'queue.no_server': (s) => queue(s, '没有控制平面在运行'),
  'queue.slots_busy': (s) => queue(s, '所有槽位都在忙'),
  'queue.scripts_off': (s) => queue(s, '它是脚本，但脚本已关闭；请用 --allow-scripts 启动服务器'),
  'queue.no_function': (s) => queue(s, join('；', `没有服务器提供本地函数 "${s.v.service}"`, !!s.v.failsAfterS && `${s.failsAfter} 内没有则失败`)),
  sleep: (s) => `${s.task} 休眠中${more(s)}`,
  checkpoint: (s) => `${s.task} 等待人工答复${s.v.until ? `，${s.left} 后过期` : ''}`,
  signal: (s) => `${s.task} 等待信号 "${s.v.key}"${more(s)}`,
  'retry.pause': (s) => `${s.task} ${s.v.until ? `将在 ${s.left} 后` : '将'}进行第 ${s.v.attempt} 次尝试${s.v.message ? `，此前：${s.v.message}` : ''}`,
  branches: (s) => `${s.task} 等待其他分支完成`,
  held_back: (s) => `${s.task} 与整个运行一起暂停，直到问题得到答复`,
  'verify.look': (s) => `${s.task} 在判定前等待最后查看其环境，最多 ${s.left}`,
  'verify.pause': (s) => `${s.task} 将在 ${s.left} 后再次请求结论`,
  'task.state': (s) => `${s.task} 的状态：${s.v.state}`,
  'limit.full': (s) => waits(s, `限制 ${s.v.key}：${s.v.most} 个中已用 ${s.v.used} 个，${ahead(s)}`),
  'limit.rate': (s) => waits(s, `速率 ${s.v.key}：${next(s)}，${ahead(s)}`),
  'limit.room': (s) => waits(s, `限制 ${s.v.key}：有空位，${ahead(s)}`),
  'limit.pushed_back': (s) => waits(s, `${s.v.key} 要求放缓：${next(s)}，${ahead(s)}`),
  'breaker.open': (s) => waits(s, `${s.v.key} 的熔断器在 ${s.v.failures} 次失败后打开：${s.left} 后再试，${ahead(s)}`),
  'breaker.trial': (s) => waits(s, `${s.v.key} 的熔断器半开：${s.v.used} 个试探中，${ahead(s)}`),
  'retries.out': (s) => waits(s, `租户 ${s.v.tenant} 的重试预算：${s.v.most} 次中已用 ${s.v.used} 次，${ahead(s)}`),
  'retries.spent': (s) => waits(s, `租户 ${s.v.tenant} 的重试预算已用完：${next(s)}，${ahead(s)}`),
  'budget.reserved': (s) => waits(s, `${owner(s)}预算：${budget(s)}，预留 ${s.v.reserved}，${ahead(s)}`),
  'budget.spent': (s) => waits(s, `${owner(s)}预算已用完：${budget(s)}，${ahead(s)}；请在收件箱答复，或提高预算`),
  'quota.full': (s) => waits(s, `${quota(s)}，${ahead(s)}`),
  'quota.too_much': (s) => waits(s, `${quota(s)}，超过了上限：请提高配额或减少需求`),
  'env.unknown': (s) => `${s.task} 等待环境 "${s.v.env}"，但无人创建；请执行 \`windlass env create ${s.v.env} --kind container\``,
  'env.closed': (s) => `${s.task} 等待环境 "${s.v.env}"，其状态为 ${s.v.state}`,
  'env.queue': (s) => `${s.task} 等待环境 "${s.v.env}"（${s.v.most} 个中已租 ${s.v.used} 个，${ahead(s)}）`,
  'env.making': making,
  'env.no_host': (s) => `${making(s)}；没有具备该运行时的主机接手：${advice(s.v.kind ?? '')}`,
  'env.no_runtime': (s) => `这里没有可以创建 ${s.v.kind} 的运行时：${advice(s.v.kind ?? '')}`,
  'pod.running': (s) => `${s.task} ${join('，', join('：', `正在 Pod ${s.v.pod} 中运行（${podNote(s)}）`, join(' ', s.percent, s.v.message)), !!s.v.heardAt && `${s.heard} 前有消息`)}`,
  'pod.pending': (s) => pod(s, '尚未开始'),
  'pod.unmade': (s) => pod(s, `尚未创建：${s.v.message ?? ''}`),
  'pod.made': (s) => pod(s, '刚刚创建'),
  'pod.unscheduled': (s) => pod(s, join('：', '等待节点', s.v.message)),
  'pod.container': (s) => pod(s, `在节点 ${s.v.place} 上等待：${s.v.cause}${s.v.message ? `（${s.v.message}）` : ''}`),
  'pod.starting': (s) => pod(s, `等待在节点 ${s.v.place} 上启动`),
}
