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
    /// The session's own variables are not known, or may have changed.
    case asking
    /// By their names.
    case known(own: Set<String>)
  }

  private let bus: SystemBus
  /// The file that shells read; `nil`: there is no folder for it.
  private let file: String?
  private var phase = Phase.asking
  private var wanted: [String] = []
  /// The variables that were set; until the service manager has answered, those before and those after a change.
  private var applied: [String]
  /// The number of questions, so that an answer counts as long as no other question follows.
  private var asked = 0
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
  package func busOpened() { ask() }

  /// Sets these variables, each `NAME=value`, and takes back all others that were set.
  package func set(_ variables: [String]) {
    guard variables != wanted else { return }
    wanted = variables
    ask()
  }

  /// Takes back what was set, at the end of the service: `settled` follows.
  package func clear() {
    wanted = []
    if applied.isEmpty { return settled() }
    ask()
  }

  /// Asks for the variables of the session, which may have got some of its own meanwhile, and makes the wanted change.
  private func ask() {
    phase = .asking
    asked += 1
    let number = asked
    bus.call(
      Self.manager.service, Self.manager.path, "org.freedesktop.DBus.Properties", "Get",
      [.string(Self.manager.interface), .string("Environment")], within: Self.patience
    ) { [weak self] result in
      guard let self, number == asked else { return }
      guard case .success(let values) = result, let list = values.first?.list else { return settled() }
      // One with another value is the session's own.
      phase = .known(own: Set(list.compactMap(\.text).filter { !applied.contains($0) }.map(Self.name)))
      apply()
    }
  }

  private func apply() {
    guard case .known(let own) = phase else { return }
    let new = wanted.filter { !own.contains(Self.name($0)) }
    let before = applied.filter { !own.contains(Self.name($0)) }
    if before != applied { write(before) }
    guard new != before else { return settled() }
    let names = new.map(Self.name)
    let gone = before.map(Self.name).filter { !names.contains($0) }
    // The file has both before the manager is asked, so that the successor of a service that is killed takes all of them back.
    write(before.filter { !new.contains($0) } + new)
    let number = asked
    bus.call(
      Self.manager.service, Self.manager.path, Self.manager.interface, "UnsetAndSetEnvironment", [.strings(gone), .strings(new)],
      within: Self.patience
    ) { [weak self] result in
      guard let self else { return }
      if case .success = result { write(new) }
      if number == asked { settled() }
    }
  }

  private func write(_ variables: [String]) {
    applied = variables
    guard let file else { return }
    if variables.isEmpty {
      unlink(file)
    } else {
      let lines = variables.map { "export \(Self.name($0))='\($0.dropFirst(Self.name($0).utf8.count + 1))'\n" }
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
