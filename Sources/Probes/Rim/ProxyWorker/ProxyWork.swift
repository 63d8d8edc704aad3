internal import Glibc
package import LinuxIO
internal import ProbeProtocol
internal import ProcessConfinement

/// The work of `roamward-proxy`: it serves a script of proxies for the agent, or runs one for the command `roamward proxy`.
package enum ProxyWork {
  private static let worker = ConfinedWorker(user: "roamward-proxy", descriptors: 128, memory: 128 << 20, filter: ProxyFilter.filter)
  /// Until the parent says which work it has.
  private static let patience = Duration.seconds(10)
  /// A script may run for so many seconds of the processor.
  private static let longestRun: UInt = 2

  /// Takes the parent's channel, confines itself, and works until the channel closes. Errors are reported to the parent too.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: { ProxyReport.hello(trouble: $0).bytes }) { channel throws(SystemError) in
      guard channel.wait(atMost: patience), case .message(let bytes, _) = try channel.receive() else { return }
      switch ProxyOrder(bytes) {
      case .serve?:
        let server = try ScriptServer(channel)
        try worker.confine(withParent: true)
        try channel.send(ProxyReport.hello(trouble: nil).bytes)
        try server.run()
      case .evaluate?:
        guard let library = ScriptLibrary() else {
          return try channel.send(ProxyReport.hello(trouble: "libpacparser is not installed (package libpacparser1)").bytes)
        }
        var limit = rlimit(rlim_cur: rlim_t(longestRun), rlim_max: rlim_t(longestRun))
        setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit)
        try worker.confine(withParent: true)
        try channel.send(ProxyReport.hello(trouble: nil).bytes)
        try evaluate(channel, library)
      default: return
      }
    }
  }

  /// Confines itself as for the agent, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try worker.confine(withParent: false) }

  private static func evaluate(_ channel: MessageChannel, _ library: ScriptLibrary) throws(SystemError) {
    var script: [UInt8] = []
    while channel.wait(atMost: patience), case .message(let bytes, _) = try channel.receive() {
      switch ProxyOrder(bytes) {
      case .part(let part)? where script.count + part.count <= ProxyLimits.script: script += part
      case .find(let url, let host, let ownAddress)?:
        return try channel.send(ProxyReport.result(library.find(url, host, ownAddress, by: script)).bytes)
      default: return
      }
    }
  }
}
