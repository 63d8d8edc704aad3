import AgentDaemon
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("The agent on D-Bus", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct AgentBusTests {
  /// The agent's side, with a report that the test changes.
  private final class Side {
    let bus: SystemBus
    var report: StatusReport
    /// Those that some users see in its place.
    var ofUsers: [UInt32: StatusReport] = [:]
    var requests: [(Request, Caller)] = []
    var reply = Reply.done([:])
    var refusal: String?
    private(set) var objects: AgentBus?

    init(_ loop: EventLoop, _ address: String) throws {
      report = Side.report(state: "disconnected")
      bus = SystemBus(on: loop, address: address)
      let objects = try AgentBus(
        bus, loop: loop,
        report: { [unowned self] in
          ReportOnBus(
            objectsOnBus(report, version: "9.9", isPortal: true),
            ofUsers: ofUsers.mapValues { objectsOnBus($0, version: "9.9", isPortal: true) })
        },
        serve: { [unowned self] request, caller, _, done in
          requests.append((request, caller))
          done(reply)
          return nil
        })
      self.objects = objects
      objects.refused = { [unowned self] in refusal = $0 }
      bus.opened = { [weak objects] in objects?.busOpened() }
      bus.closed = { [weak objects] _ in objects?.busClosed() }
      bus.connect()
    }

    static func report(state: String) -> StatusReport {
      var tunnel = StatusReport.Tunnel(
        name: "my-corp", state: state, since: Timestamp(seconds: 5), isEnabled: true, decision: .connect, rule: nil, reason: "abroad")
      tunnel.questions = [.init(number: 3, kind: "code", prompt: "The code", url: nil, until: Timestamp(seconds: 9))]
      return StatusReport(
        time: Timestamp(seconds: 7), process: 1, policy: .init(generation: 1, files: 1),
        primary: .init(link: "wlan0", type: nil, ssid: "Cafe"),
        firewall: FirewallStatus(situation: .guarded, guards: ["my-corp"], blocking: ["my-corp"]), tunnels: [tunnel])
    }
  }

  private static let tunnel = "/net/roamward/Agent1/tunnel/my_2dcorp"

  /// Runs with an agent on a private bus and another connection to it.
  private func onBus<Result>(_ body: @escaping (EventLoop, Side, SystemBus, @escaping (Result) -> Void) throws -> Void) throws -> Result {
    let bus = try PrivateBus()
    try bus.start()
    return try onLoop { loop, done in
      let side = try Side(loop, bus.address)
      let client = SystemBus(on: loop, address: bus.address)
      client.opened = {
        var hasBegun = false
        func begin() {
          if hasBegun { return }
          hasBegun = true
          do { try body(loop, side, client, done) } catch { Issue.record(error) }
        }
        client.match("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='net.roamward.Agent1'") { _ in begin() }
        client.call(AgentInterface.service, "/", "org.freedesktop.DBus.Peer", "Ping", within: .seconds(20)) { result in
          if case .success = result { begin() }
        }
      }
      client.connect()
      return [side, client] as [AnyObject]
    }
  }

  private func call(
    _ client: SystemBus, _ path: String, _ interface: String, _ method: String, _ arguments: [BusArgument] = [],
    then: @escaping (Result<[BusValue], BusError>) -> Void
  ) { client.call(AgentInterface.service, path, interface, method, arguments, within: .seconds(30), then: then) }

  @Test("every property that is declared has a value of its type, and no other has one") func types() throws {
    let objects = objectsOnBus(Side.report(state: "connected"), version: "1", isPortal: false)
    #expect(Set(objects.keys) == [AgentInterface.root, Self.tunnel])
    for (path, interface) in [(AgentInterface.root, AgentInterface.agent), (Self.tunnel, AgentInterface.tunnel)] {
      let values = try #require(objects[path]?[interface.name])
      #expect(
        values.mapValues(\.signature) == Dictionary(uniqueKeysWithValues: interface.properties.map { ($0.name, $0.type) }))
    }
  }

  @Test("shows its state in properties, and each tunnel as an object") func state() throws {
    let seen: [String] = try onBus { loop, side, client, done in
      self.call(client, AgentInterface.root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") { tunnels in
        self.call(client, AgentInterface.root, "org.freedesktop.DBus.Properties", "GetAll", [.string("net.roamward.Agent1")]) { agent in
          self.call(client, AgentInterface.root, "org.freedesktop.DBus.Introspectable", "Introspect") { root in
            self.call(client, Self.tunnel, "org.freedesktop.DBus.Introspectable", "Introspect") { tunnel in
              guard case .success(let tunnels) = tunnels, case .success(let agent) = agent, case .success(let root) = root,
                case .success(let tunnel) = tunnel
              else { return done(["\(tunnels) \(agent)"]) }
              let properties = tunnels.first?[Self.tunnel]?["net.roamward.Agent1.Tunnel"]
              done([
                tunnels.first?.dictionary?.keys.joined(separator: " ") ?? "", properties?["State"]?.text ?? "",
                properties?["Name"]?.text ?? "", "\(properties?["Since"]?.unsigned ?? 0)",
                properties?["Questions"]?[0]?[2]?.text ?? "", agent.first?["Version"]?.text ?? "",
                "\(agent.first?["Blocking"]?.bool ?? false) \(agent.first?["CaptivePortal"]?.bool ?? false)",
                agent.first?["Ssid"]?.text ?? "", agent.first?["Tunnels"]?[0]?.text ?? "",
                "\(root.first?.text?.contains("<method name=\"OpenPortal\">") ?? false)",
                "\(root.first?.text?.contains("<node name=\"tunnel\"/>") ?? false)",
                "\(tunnel.first?.text?.contains("<property name=\"State\" type=\"s\" access=\"read\"/>") ?? false)",
              ])
            }
          }
        }
      }
    }
    #expect(
      seen == [Self.tunnel, "disconnected", "my-corp", "5", "The code", "9.9", "true true", "Cafe", Self.tunnel, "true", "true", "true"])
  }

  @Test("announces changes: properties first, then the event; objects that come and go") func signals() throws {
    let seen: [String] = try onBus { loop, side, client, done in
      var seen: [String] = []
      client.match("type='signal',interface='org.freedesktop.DBus.Properties'") { values in
        seen.append("\(values[0].text ?? "") \(values[1].dictionary?.keys.sorted().joined(separator: ",") ?? "")")
        if values[0].text == AgentInterface.agent.name { done(seen) }
      }
      client.match("type='signal',interface='net.roamward.Agent1.Tunnel'") { values in
        seen.append(values.compactMap(\.text).joined(separator: " "))
        side.report.tunnels = []
        side.objects?.happened(.policy(generation: 2, errors: 0, warnings: 0))
      }
      client.match("type='signal',interface='org.freedesktop.DBus.ObjectManager'") { values in
        seen.append("\(values[0].text ?? "") \(values[1].list?.compactMap(\.text) ?? [])")
      }
      // After the subscriptions: the bus works in order.
      self.call(client, "/", "org.freedesktop.DBus.Peer", "Ping") { _ in
        side.report = Side.report(state: "connected")
        side.objects?.happened(.state(tunnel: "my-corp", from: "connecting", to: "connected", code: .undecided, reason: "it answered"))
      }
    }
    #expect(
      seen == [
        "net.roamward.Agent1.Tunnel State", "connecting connected \(ReasonCode.undecided.rawValue) it answered",
        "\(Self.tunnel) [\"net.roamward.Agent1.Tunnel\"]", "net.roamward.Agent1 Tunnels",
      ])
  }

  /// A connection, with the signals that it heard.
  private final class Witness {
    let bus: SystemBus
    private(set) var heard: [String] = [] { didSet { changed() } }
    var changed: () -> Void = {}

    /// `user`: of the connection; `nil`: the test's.
    init(_ loop: EventLoop, _ address: String, as user: UInt32? = nil, then begin: @escaping (Witness) -> Void) throws {
      bus = SystemBus(on: loop, address: address)
      bus.opened = { [unowned self] in
        bus.match("type='signal',path_namespace='\(AgentInterface.root)',interface='org.freedesktop.DBus.Properties'") { [unowned self] in
          heard.append("\($0[1].dictionary?.keys.sorted().joined(separator: ",") ?? "")")
        }
        for interface in ["org.freedesktop.DBus.ObjectManager", AgentInterface.tunnel.name] {
          bus.match("type='signal',path_namespace='\(AgentInterface.root)',interface='\(interface)'") { [unowned self] in
            heard.append($0.compactMap(\.text).joined(separator: " "))
          }
        }
        begin(self)
      }
      if let user { try #require(Privileges.asUser(user) { bus.connect() } != nil) } else { bus.connect() }
    }

    func tunnels(then: @escaping (String) -> Void) {
      bus.call(
        AgentInterface.service, AgentInterface.root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", within: .seconds(30)
      ) { result in
        guard case .success(let values) = result else { return then("\(result)") }
        then(values.first?.dictionary?.keys.sorted().compactMap { $0.split(separator: "/").last }.joined(separator: " ") ?? "")
      }
    }
  }

  @Test(
    "a tunnel of one user is shown to that user, who hears of it after a call; to others it is as none",
    .enabled(if: geteuid() == 0, "only root can become another user"))
  func owned() throws {
    let mine = "/net/roamward/Agent1/tunnel/mine"
    // The bus takes users of the user database alone: daemon.
    let owner: UInt32 = 1
    func report(_ state: String) -> StatusReport {
      var report = Side.report(state: state)
      report.tunnels.append(
        .init(name: "mine", state: state, since: Timestamp(seconds: 5), isEnabled: true, decision: .connect, rule: nil, reason: "here"))
      return report
    }
    func event(_ tunnel: String) -> Event.Kind {
      .state(tunnel: tunnel, from: "connecting", to: "connected", code: .undecided, reason: "answered")
    }
    let bus = try PrivateBus()
    try shell("chmod 755 '\(bus.folder.path)'")
    try bus.start()
    let seen: [String] = try onLoop { loop, done in
      let side = try Side(loop, bus.address)
      side.ofUsers = [0: report("disconnected"), owner: report("disconnected")]
      var witnesses: [Witness] = []
      func end(_ said: [String]) {
        side.ofUsers = [0: report("connected"), owner: report("connected")]
        side.objects?.happened(event("mine"), for: [0, owner])
        side.report = Side.report(state: "connected")
        side.objects?.happened(event("my-corp"))
        // The event that all hear is the last one.
        func check() {
          let counts = witnesses.map { $0.heard.count { $0.hasPrefix("connecting connected") } }
          if counts[0] >= 2, counts.allSatisfy({ $0 > 0 }) { done(said + witnesses.map { $0.heard.joined(separator: "; ") }) }
        }
        for witness in witnesses { witness.changed = check }
      }
      func begin() throws {
        side.objects?.happened(.policy(generation: 2, errors: 0, warnings: 0))
        witnesses.append(
          try Witness(loop, bus.address, as: owner) { one in
            one.tunnels { ofOwner in
              witnesses.append(
                try! Witness(loop, bus.address, as: 65534) { stranger in
                  stranger.tunnels { ofStranger in
                    self.call(stranger.bus, mine, AgentInterface.tunnel.name, "Resume") { refusal in
                      // Of the owner too, but it has called nothing.
                      witnesses.append(
                        try! Witness(loop, bus.address, as: owner) { quiet in
                          quiet.bus.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetId", within: .seconds(30)) { _ in
                            end([ofOwner, ofStranger, "\(refusal)"])
                          }
                        })
                    }
                  }
                })
            }
          })
      }
      let first = SystemBus(on: loop, address: bus.address)
      first.opened = {
        var hasBegun = false
        func start() {
          if hasBegun { return }
          hasBegun = true
          do { try begin() } catch { Issue.record(error) }
        }
        first.match("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='net.roamward.Agent1'") { _ in start() }
        first.call(AgentInterface.service, "/", "org.freedesktop.DBus.Peer", "Ping", within: .seconds(20)) { result in
          if case .success = result { start() }
        }
      }
      first.connect()
      return [side, first] as [AnyObject]
    }
    #expect(seen.count == 6)
    #expect(seen[0] == "mine my_2dcorp" && seen[1] == "my_2dcorp", "\(seen)")
    #expect(seen[2] == "failure(there is no object \(mine))", "\(seen)")
    let said = "connecting connected \(ReasonCode.undecided.rawValue) answered"
    // The properties of a moment come before its events.
    #expect(seen[3] == "State; State; \(said); \(said)", "\(seen)")
    #expect(seen[4] == "State; \(said)" && seen[5] == seen[4], "\(seen)")
  }

  @Test("methods are requests of the caller, as at the local socket, and refusals are errors with the same words") func methods() throws {
    var requests: [(Request, Caller)] = []
    let seen: [String] = try onBus { loop, side, client, done in
      var seen: [String] = []
      func record(_ result: Result<[BusValue], BusError>) {
        switch result {
        case .success: seen.append("done")
        case .failure(let error): seen.append("\(error.name): \(error.message)")
        }
      }
      let name = AgentInterface.tunnel.name
      self.call(client, Self.tunnel, name, "Up", [.string("time"), .uint64(60), .string("")]) { result in
        record(result)
        self.call(client, Self.tunnel, name, "Answer", [.uint32(0), .string("1234")]) { result in
          record(result)
          side.reply = .refused(RequestError(code: .notAllowed, message: "no"))
          self.call(client, AgentInterface.root, AgentInterface.agent.name, "OpenPortal", [.uint64(0), .string("sign in")]) { result in
            record(result)
            self.call(client, Self.tunnel, name, "Down", [.string("never"), .uint64(0), .string("")]) { result in
              record(result)
              self.call(client, Self.tunnel, name, "Down", [.string("resume")]) { result in
                record(result)
                self.call(client, Self.tunnel, name, "Destroy") { result in
                  record(result)
                  self.call(client, "/net/roamward/Agent1/tunnel/none", name, "Resume") { result in
                    record(result)
                    requests = side.requests
                    done(seen)
                  }
                }
              }
            }
          }
        }
      }
    }
    #expect(
      seen == [
        "done", "done", "net.roamward.Agent1.Error.NotAllowed: no",
        "net.roamward.Agent1.Error.BadRequest: `until` is \"never\"; write network, resume, or time with `seconds`",
        "org.freedesktop.DBus.Error.InvalidArgs: Down takes (sts), not (s)",
        "org.freedesktop.DBus.Error.UnknownMethod: \(Self.tunnel) has no method Destroy",
        "org.freedesktop.DBus.Error.UnknownObject: there is no object /net/roamward/Agent1/tunnel/none",
      ])
    #expect(
      requests.map(\.0) == [
        .override(tunnel: "my-corp", OverrideRequest(wantsUp: true, until: .seconds(60))),
        .answer(tunnel: "my-corp", question: nil, answer: "1234"), .release(ReleaseRequest(isPortal: true, reason: "sign in")),
      ])
    for (_, caller) in requests {
      #expect(caller.user == getuid() && caller.process == getpid())
      if case .busName(let name) = caller.subject { #expect(name.hasPrefix(":1.")) } else { Issue.record("\(caller)") }
    }
  }

  @Test("the bus knows the groups of a caller, which decide where polkit does not run") func groups() throws {
    let groups: Set<UInt32>? = try onBus { loop, side, client, done in
      self.call(client, Self.tunnel, "org.freedesktop.DBus.Properties", "GetAll", [.string("")]) { _ in
        client.credentials(of: AgentInterface.service) { done($0?.groups) }
      }
    }
    #expect(try #require(groups).contains(getegid()))
  }

  @Test("a flood of calls gets errors, and an end") func flood() throws {
    let seen: (Int, Int) = try onBus { loop, side, client, done in
      var (good, refused) = (0, 0)
      for _ in 0..<300 {
        self.call(client, AgentInterface.root, "org.freedesktop.DBus.Introspectable", "Introspect") { result in
          switch result {
          case .success: good += 1
          case .failure(let error): if error.name == "org.freedesktop.DBus.Error.LimitsExceeded" { refused += 1 }
          }
          if good + refused == 300 { done((good, refused)) }
        }
      }
    }
    #expect(seen.0 >= 90 && seen.1 > 0, "\(seen)")
  }

  @Test("a bus that comes later, and comes again, has the agent's name") func lateBus() throws {
    let bus = try PrivateBus()
    var side: Side?
    let names: Int = try onLoop { loop, done in
      side = try Side(loop, bus.address)
      let client = SystemBus(on: loop, address: bus.address)
      var (count, again): (Int, EventSource?) = (0, nil)
      client.opened = {
        var isKnown = false
        func take() {
          guard !isKnown else { return }
          isKnown = true
          count += 1
          if count == 2 { return done(count) }
          again = try? loop.at(.now) {
            bus.stop()
            try? bus.start()
          }
        }
        client.match("type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='net.roamward.Agent1'") { values in
          if values[2].text != "" { take() }
        }
        client.call(AgentInterface.service, AgentInterface.root, "org.freedesktop.DBus.Peer", "Ping", within: .seconds(20)) {
          if case .success = $0 { take() }
        }
      }
      client.connect()
      let start = try loop.at(.now + .milliseconds(50)) { try? bus.start() }
      return [client, start, again] as [AnyObject?]
    }
    #expect(names == 2)
    withExtendedLifetime(side) {}
  }
}
