/** Chinese for pods. */
export const pods = {
  'Cannot be set up': '无法完成配置',
  Details: '详情',
  'Deleted by a person': '被人工删除',
  Evicted: '被驱逐',
  'Find a pod': '查找 Pod',
  Image: '镜像',
  'Image not available': '无法获取镜像',
  Namespace: '命名空间',
  Namespaces: '命名空间',
  'No pod fits the filter.': '没有 Pod 符合筛选条件。',
  'No pod lives now. A node with `exec_type: pod` has one for each attempt. Try the example:':
    '目前没有存活的 Pod。带有 `exec_type: pod` 的节点每次尝试都会有一个 Pod。试试示例：',
  'No room for it': '资源不足',
  'No server that is up launches pods.': '没有正在运行的服务器会启动 Pod。',
  Node: '节点',
  'Node lost': '节点失联',
  'Out of memory': '内存不足',
  Pods: 'Pod',
  'Program failed': '程序失败',
  'Run, flow, node or pod': '运行、流程、节点或 Pod',
  'Show those that have ended': '显示已结束的',
  'Tasks that wait for a pod: {n}': '等待 Pod 的任务：{n}',
  'This server knows no cluster to make pods in. Start one with a kubeconfig, with --kube-url, or with --kube-in-cluster:':
    '此服务器没有可创建 Pod 的集群。请使用 kubeconfig、--kube-url 或 --kube-in-cluster 启动服务器：',
  'Took too long': '超出时限',
} as const
