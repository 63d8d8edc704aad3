internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The variables of proxies in the user's session: those of the service manager, which new programs get, and a file for shells. A variable
/// that the session has by itself is left alone.
package final class SessionEnvironment {
  private static let manager = (
    service: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1", interface: "org.freedesktop.systemd1.Manager"
  )
  private static let patience = Duration.seconds(10)

  private enum Phase {
    /// The session's own variables are not known yet.
    case asking
    /// By their names.
    case known(own: Set<String>)
  }

  private let bus: SystemBus
  /// The file that shells read; `nil`: there is no folder for it.
  private let file: String?
  private var phase = Phase.asking
  private var wanted: [String] = []
  /// The variables that were set.
  private var applied: [String]
  /// Called when the session has the wanted variables, or cannot get them.
  var settled: () -> Void = {}

  /// `folder`: where the service may write (`RuntimeDirectory=`).
  package init(_ session: SystemBus, folder: String?) {
    bus = session
    file = folder.map { $0 + "/proxy.env" }
    // Those of a service that was killed.
    applied = file.map { Self.variables(in: $0) } ?? []
  }

  /// Takes back what a service that was killed has left in the session; ends the loop after that.
  package static func forget(on loop: EventLoop, session address: String? = nil, folder: String? = nil) -> AnyObject? {
    guard let folder = folder ?? runtimeFolder, access(folder + "/proxy.env", F_OK) == 0 else {
      loop.stop()
      return nil
    }
    let bus = SystemBus(on: loop, address: address ?? DesktopService.sessionAddress)
    let environment = SessionEnvironment(bus, folder: folder)
    let limit = try? loop.at(Moment.now + Self.patience) { loop.stop() }
    environment.settled = { loop.stop() }
    bus.opened = { environment.busOpened() }
    bus.closed = { _ in loop.stop() }
    bus.connect()
    return limit
  }

  /// The folder of the service, by `RuntimeDirectory=`.
  static var runtimeFolder: String? { getenv("RUNTIME_DIRECTORY").map { String(cString: $0) } }

  /// The service manager may have been started again.
  package func busOpened() {
    phase = .asking
    bus.call(
      Self.manager.service, Self.manager.path, "org.freedesktop.DBus.Properties", "Get",
      [.string(Self.manager.interface), .string("Environment")], within: Self.patience
    ) { [weak self] result in
      guard let self else { return }
      guard case .success(let values) = result, let list = values.first?.list else { return settled() }
      let mine = applied.map(Self.name)
      phase = .known(own: Set(list.compactMap { $0.text.map(Self.name) }).subtracting(mine))
      apply()
    }
  }

  /// Sets these variables, each `NAME=value`, and takes back all others that were set.
  package func set(_ variables: [String]) {
    guard variables != wanted else { return }
    wanted = variables
    apply()
  }

  /// Takes back what was set, at the end of the service: `settled` follows.
  package func clear() {
    wanted = []
    guard case .known = phase else { return settled() }
    apply()
  }

  private func apply() {
    guard case .known(let own) = phase else { return }
    let new = wanted.filter { !own.contains(Self.name($0)) }
    guard new != applied else { return settled() }
    let names = new.map(Self.name)
    let gone = applied.map(Self.name).filter { !names.contains($0) }
    applied = new
    write()
    call("UnsetAndSetEnvironment", [.strings(gone), .strings(new)])
  }

  private func call(_ method: String, _ arguments: [BusArgument]) {
    bus.call(Self.manager.service, Self.manager.path, Self.manager.interface, method, arguments, within: Self.patience) { [weak self] _ in
      self?.settled()
    }
  }

  private func write() {
    guard let file else { return }
    if applied.isEmpty {
      unlink(file)
    } else {
      let lines = applied.map { "export \(Self.name($0))='\($0.dropFirst(Self.name($0).utf8.count + 1))'\n" }
      try? TextFile.replace(file, with: Array(lines.joined().utf8), mode: 0o600)
    }
  }

  private static func name(_ variable: String) -> String { String(variable.prefix { $0 != "=" }) }

  /// The variables of a file that this service has written.
  private static func variables(in file: String) -> [String] {
    let text = (try? TextFile.read(file)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("export "), line.hasSuffix("'"), let equals = line.firstRange(of: "='") else { return nil }
      return line[..<equals.lowerBound].dropFirst(7) + "=" + line[equals.upperBound...].dropLast()
    }
  }
}
