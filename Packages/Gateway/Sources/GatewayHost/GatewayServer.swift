internal import GatewayCore
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import KernelNetwork
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// A running gateway: follows the store, and keeps the kernel as the store wants it. It ends without changing anything: links, peers and
/// rules stay, and everybody stays connected.
package final class GatewayServer {
  private let folder: StateFolder
  private let lock: FileDescriptor
  private let loop: EventLoop
  private let store: GatewayStore
  private let key: SecretKey
  private let kernel: GatewayKernel
  private let firewall: GatewayFirewall
  private var view: GatewayStore.View
  private var sources: [EventSource] = []
  private var timer: EventSource?
  private var lastTrouble: String?
  private var logins: LoginService?

  /// How often the store and the kernel are compared without an event: what replaces a lost one.
  private static let period = Duration.seconds(15)

  /// What a gateway cannot start without.
  package struct StartFailure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  package init(_ folder: StateFolder) throws {
    self.folder = folder
    Privileges.forbidDumps()
    guard let lock = try folder.lock(patience: .seconds(1)) else {
      throw StartFailure(description: "another gateway runs with \(folder.path)")
    }
    self.lock = lock
    store = try folder.store()
    guard let key = try folder.privateKey() else { throw GatewayError.notInitialised }
    self.key = key
    view = try store.load()
    guard let site = view.directory.site else { throw GatewayError.notInitialised }
    guard key.publicKey == site.publicKey else {
      throw StartFailure(description: "\(folder.keyPath) is not the key that clients know; put the right one back")
    }
    guard Privileges.canChangeNetwork else { throw StartFailure(description: "the gateway needs CAP_NET_ADMIN; run it as root") }
    loop = try EventLoop()
    kernel = try GatewayKernel(folder, on: loop) { log($0) }
    firewall = try GatewayFirewall(folder)
  }

  /// Runs until SIGTERM or SIGINT.
  package func run() throws -> Int32 {
    for signal in [SIGTERM, SIGINT] {
      sources.append(
        try loop.onSignal(signal) { [weak self] in
          ServiceManager.stopping()
          self?.loop.stop()
        })
    }
    sources.append(
      try loop.onChange(in: folder.path, mask: UInt32(IN_MOVED_TO)) { [weak self] name, _ in
        if name.isEmpty || name == "changed" { self?.refresh() }
      })
    logins = LoginService(
      folder, on: loop, store, directory: { [weak self] in self?.view.directory ?? Directory() },
      changed: { [weak self] in self?.refresh() }, log: { log($0) })
    refresh()
    ServiceManager.ready(status: lastTrouble ?? "\(view.directory.devices.count) devices")
    return try loop.run()
  }

  /// Reads what has changed in the store, and makes the kernel so. Without the store the last state stays in force.
  private func refresh() {
    do throws(StoreError) {
      _ = try store.refresh(&view)
      converge()
    } catch {
      trouble("\(error); the gateway goes on with what it has read")
      converge(isComplete: false)
    }
    logins?.refresh()
    timer = try? loop.at(.now + Self.period) { [weak self] in self?.refresh() }
  }

  private func converge(isComplete: Bool = true) {
    guard let site = view.directory.site else { return trouble("the store has no gateway any more; nothing is changed") }
    let engine = kernel.engine(of: site.link.description)
    guard let state = GatewayState(view.directory, privateKey: key, engine: engine, at: Timestamp.now.seconds) else { return }
    do {
      // Packets are refused before they can arrive.
      switch try firewall.apply(state.table) {
      case .none: break
      case .elements(let changes): log(changes.split(separator: "\n").joined(separator: "; "))
      case .table: log("nft table \(GatewayTable.name): replaced")
      }
      for family in Set(view.directory.pools.values.map(\.prefix.family)) where !Forwarding.isOn(family) {
        log("sysctl \(Forwarding.name(family))=1")
        try Forwarding.turnOn(family)
      }
      let plan = try kernel.plan(to: state)
      if let conflict = plan.conflict { return trouble(conflict) }
      kernel.apply(plan) { [weak self] in self?.converge() }
      if isComplete { trouble(nil) }
    } catch { trouble("\(error)") }
  }

  /// Logs a trouble once, and its end.
  private func trouble(_ text: String?) {
    guard text != lastTrouble else { return }
    lastTrouble = text
    log(text ?? "no trouble any more")
    ServiceManager.status(text ?? "\(view.directory.devices.count) devices")
  }
}

/// A line for the journal, which adds time and process.
private func log(_ text: String) {
  var line = Array("roamward-gateway: \(text)\n".utf8)
  line.withUnsafeMutableBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
