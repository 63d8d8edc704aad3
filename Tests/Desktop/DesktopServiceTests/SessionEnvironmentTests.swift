import Glibc
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@testable import DesktopService

/// The variables of proxies in a session, beside a double of its service manager.
@Suite("The environment of a session", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct SessionEnvironmentTests {
  /// A service manager, with the variables of the session.
  private final class ManagerDouble {
    let bus: SystemBus
    private let objects: BusObjects
    private(set) var variables: [String]
    /// Whether calls are answered; they are carried out all the same.
    var answers = true
    var changed: ([String]) -> Void = { _ in }

    init(_ loop: EventLoop, _ address: String, variables: [String]) {
      self.variables = variables
      bus = SystemBus(on: loop, address: address)
      let name = "org.freedesktop.systemd1.Manager"
      let manager = BusInterface(
        name, methods: [.init("UnsetAndSetEnvironment", [.init("names", "as"), .init("assignments", "as")])],
        properties: [.init("Environment", "as")])
      objects = BusObjects(bus, root: "/org/freedesktop/systemd1", interfaces: [manager])
      objects.update(["/org/freedesktop/systemd1": [name: ["Environment": .strings(variables)]]])
      objects.called = { [unowned self] call in
        let gone = (call.values[0].list ?? []).compactMap(\.text)
        let new = (call.values[1].list ?? []).compactMap(\.text)
        self.variables.removeAll { variable in (gone + new.map(Self.name)).contains(Self.name(variable)) }
        put(self.variables + new)
        if answers { call.reply() }
        changed(self.variables)
      }
      bus.opened = { [unowned self] in
        objects.export()
        bus.own("org.freedesktop.systemd1") { _ in }
      }
      bus.connect()
    }

    /// Another program changes the variables of the session.
    func put(_ variables: [String]) {
      self.variables = variables
      objects.update(["/org/freedesktop/systemd1": ["org.freedesktop.systemd1.Manager": ["Environment": .strings(variables)]]])
    }

    static func name(_ variable: String) -> String { String(variable.prefix { $0 != "=" }) }
  }

  private static let proxies = ["http_proxy=http://10.0.0.80:3128", "no_proxy=localhost,corp.example"]

  /// Sets each of the lists in turn, and returns the variables of the session after each, with the file. `meanwhile`: what another program
  /// does after the first one.
  private func follow(
    _ steps: [[String]], from before: [String], folder: String, meanwhile: (([String]) -> [String])? = nil
  ) throws -> [String] {
    let session = try PrivateBus()
    try session.start()
    return try onLoop { loop, done in
      let manager = ManagerDouble(loop, session.address, variables: before)
      let bus = SystemBus(on: loop, address: session.address)
      let environment = SessionEnvironment(bus, folder: folder)
      var (rest, seen) = (steps, [String]())
      // Asked for by `set`: no other question is open.
      environment.settled = {
        guard rest.count < steps.count else { return }
        let variables = manager.variables
        let file = (try? TextFile.read(folder + "/proxy.env")).map { String(decoding: $0, as: UTF8.self) } ?? "no file"
        seen.append(variables.joined(separator: " ") + " | " + file.split(separator: "\n").joined(separator: " "))
        if seen.count == 1, let meanwhile { manager.put(meanwhile(variables)) }
        if rest.isEmpty { done(seen) } else { environment.set(rest.removeFirst()) }
      }
      bus.opened = {
        // The double has its name soon.
        func ask() {
          bus.call(
            "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", [.string("org.freedesktop.systemd1")], within: .seconds(20)
          ) {
            guard case .success(let values) = $0, values.first?.bool == true else { return ask() }
            environment.busOpened()
            environment.set(rest.removeFirst())
          }
        }
        ask()
      }
      bus.connect()
      return [manager, bus, environment] as [AnyObject]
    }
  }

  @Test("has the proxies while there are any, for new programs and for shells, and then what it had") func life() throws {
    let folder = try TemporaryFolder()
    let seen = try follow([Self.proxies, [Self.proxies[0]], []], from: ["LANG=C"], folder: folder.path)
    #expect(
      seen == [
        "LANG=C \(Self.proxies[0]) \(Self.proxies[1]) | export http_proxy='http://10.0.0.80:3128' export no_proxy='localhost,corp.example'",
        "LANG=C \(Self.proxies[0]) | export http_proxy='http://10.0.0.80:3128'", "LANG=C | no file",
      ])
  }

  @Test("keeps a variable that it has by itself") func own() throws {
    let folder = try TemporaryFolder()
    let seen = try follow([Self.proxies, []], from: ["no_proxy=mine"], folder: folder.path)
    #expect(
      seen == [
        "no_proxy=mine \(Self.proxies[0]) | export http_proxy='http://10.0.0.80:3128'", "no_proxy=mine | no file",
      ])
  }

  @Test("keeps a variable that a person sets meanwhile") func meanwhile() throws {
    let folder = try TemporaryFolder()
    let seen = try follow([Self.proxies, [Self.proxies[0] + "0", Self.proxies[1]], []], from: [], folder: folder.path) {
      $0.filter { !$0.hasPrefix("http_proxy=") } + ["http_proxy=mine"]
    }
    #expect(
      seen.dropFirst() == [
        "\(Self.proxies[1]) http_proxy=mine | export no_proxy='localhost,corp.example'", "http_proxy=mine | no file",
      ])
  }

  /// Goes on once the double of the service manager has its name.
  private func whenManaged(_ bus: SystemBus, _ proceed: @escaping () -> Void) {
    bus.call(
      "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", [.string("org.freedesktop.systemd1")], within: .seconds(20)
    ) {
      guard case .success(let values) = $0, values.first?.bool == true else { return whenManaged(bus, proceed) }
      proceed()
    }
  }

  @Test("is noted until the service manager has answered, so that a killed service's successor can take it back") func unanswered() throws {
    let folder = try TemporaryFolder()
    let text = "export http_proxy='http://10.0.0.80:3128'\n"
    try TextFile.replace(folder.path + "/proxy.env", with: Array(text.utf8), mode: 0o600)
    let session = try PrivateBus()
    try session.start()
    let left: String = try onLoop { loop, done in
      let manager = ManagerDouble(loop, session.address, variables: ["http_proxy=http://10.0.0.80:3128"])
      manager.answers = false
      manager.changed = { _ in
        done((try? TextFile.read(folder.path + "/proxy.env")).map { String(decoding: $0, as: UTF8.self) } ?? "no file")
      }
      let bus = SystemBus(on: loop, address: session.address)
      let environment = SessionEnvironment(bus, folder: folder.path)
      bus.opened = { whenManaged(bus) { environment.busOpened() } }
      bus.connect()
      return [manager, bus, environment] as [AnyObject]
    }
    #expect(left == text)
  }

  @Test("loses what a killed service has left, and nothing else") func forgotten() throws {
    let folder = try TemporaryFolder()
    try TextFile.replace(folder.path + "/proxy.env", with: Array("export http_proxy='http://10.0.0.80:3128'\n".utf8), mode: 0o600)
    let session = try PrivateBus()
    try session.start()
    let seen: [String] = try onLoop { loop, done in
      let manager = ManagerDouble(loop, session.address, variables: ["http_proxy=http://10.0.0.80:3128", "https_proxy=mine"])
      let bus = SystemBus(on: loop, address: session.address)
      let environment = SessionEnvironment(bus, folder: folder.path)
      environment.settled = { done(manager.variables) }
      bus.opened = { whenManaged(bus) { environment.busOpened() } }
      bus.connect()
      return [manager, bus, environment] as [AnyObject]
    }
    #expect(seen == ["https_proxy=mine"] && access(folder.path + "/proxy.env", F_OK) != 0)
  }
}
