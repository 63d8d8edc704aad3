import AgentDaemon
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing

@Suite("Rights at the local socket", .enabled(if: PrivateBus.isPossible, "dbus-daemon is not installed"), .serialized)
struct RightsTests {
  private struct Outcome {
    var reply: Reply
    var carriedOut: Int
    var questions: [String]
    var cancelled: Int
  }

  /// The outcome of one `resume` of an ordinary user. `behaviour`: `nil`: no polkit on the bus.
  private func resume(
    _ behaviour: PolkitDouble.Behaviour?, isMember: Bool = false, hasBus: Bool = true, disconnects: Bool = false
  ) throws -> Outcome {
    let bus = try PrivateBus()
    if hasBus { try bus.start() }
    let folder = try TemporaryFolder()
    var polkit: PolkitDouble?
    var carriedOut = 0
    var limits = PolkitAuthority.Limits()
    limits.alone = behaviour == .hangs ? .milliseconds(300) : .seconds(30)
    limits.interactive = behaviour == .hangsAtPrompt && !disconnects ? .milliseconds(300) : .seconds(30)
    let reply: Reply? = try onLoop { loop, done in
      polkit = try behaviour.map { try PolkitDouble(on: bus.address, loop: loop, $0) }
      let system = SystemBus(on: loop, address: bus.address)
      let gatekeeper = Gatekeeper(PolkitAuthority(system, limits: limits))
      system.closed = { _ in gatekeeper.busClosed() }
      system.connect()
      let server = try ControlServer(
        path: folder.path + "/s.sock", loop: loop, isOwner: { _ in false },
        authorize: { request, caller, done in
          var caller = caller
          caller.isMember = isMember
          return gatekeeper.decide(RightsQuestion(request.right { _, _ in false }, of: caller), then: done)
        }
      ) { _, _ in
        carriedOut += 1
        return .done([:])
      }
      var client: FileDescriptor? = try FileDescriptor.connect(to: folder.path + "/s.sock", nonBlocking: true)
      try client?.writeAll(Array((Request.resume(tunnel: "corp").json.text() + "\n").utf8))
      var answer: EventSource?
      var leaving: EventSource?
      if disconnects {
        polkit?.asked = {
          if polkit?.questions.count == 2 { leaving = try? loop.at(.now) { client = nil } }
          if (polkit?.cancelled ?? 0) > 0 { done(nil) }
          withExtendedLifetime(leaving) {}
        }
      } else if let client {
        answer = try loop.whenReadable(client.number) {
          guard let line = try? client.read(), !line.isEmpty else { return }
          done(try? Reply(JSON(parsing: line.dropLast())))
        }
      }
      return [system, gatekeeper, server, answer, disconnects ? nil : client] as [AnyObject?]
    }
    return Outcome(
      reply: reply ?? .done(.null), carriedOut: carriedOut, questions: polkit?.questions ?? [], cancelled: polkit?.cancelled ?? 0)
  }

  private func message(_ reply: Reply) -> String {
    if case .refused(let error) = reply, error.code == .notAllowed { error.message } else { "\(reply)" }
  }

  @Test("polkit is asked about the process, its start time and its user, and what it allows is done") func allowed() throws {
    let outcome = try resume(.allows)
    #expect(outcome.reply == .done([:]) && outcome.carriedOut == 1)
    let start = try #require(PeerIdentity.startTime(of: getpid()))
    #expect(
      outcome.questions == ["unix-process, pid \(getpid()), start-time \(start), uid \(getuid()), net.roamward.override"])
  }

  @Test("polkit may ask for a password, only after it has said that it needs one") func prompt() throws {
    let outcome = try resume(.prompts)
    #expect(outcome.reply == .done([:]) && outcome.carriedOut == 1)
    #expect(outcome.questions.count == 2 && outcome.questions[1] == outcome.questions[0] + ", interactive")
  }

  @Test(
    "what polkit refuses, or does not answer, is not done; the message says what to do",
    arguments: [
      (PolkitDouble.Behaviour.denies, "polkit does not allow connecting and disconnecting tunnels (net.roamward.override)"),
      (.hangs, "polkit did not answer"),
      (.hangsAtPrompt, "polkit did not answer"),
      (.fails, "polkit cannot decide on connecting and disconnecting tunnels (net.roamward.override): Action is not registered"),
      (.dies, "polkit did not answer"),
    ])
  func refused(behaviour: PolkitDouble.Behaviour, words: String) throws {
    let outcome = try resume(behaviour, isMember: true)
    #expect(message(outcome.reply).hasPrefix(words) && message(outcome.reply).contains("sudo"), "\(message(outcome.reply))")
    #expect(outcome.carriedOut == 0)
  }

  @Test("without polkit the group decides, with a bus and without one", arguments: [true, false]) func group(hasBus: Bool) throws {
    let member = try resume(nil, isMember: true, hasBus: hasBus)
    #expect(member.reply == .done([:]) && member.carriedOut == 1)
    let other = try resume(nil, hasBus: hasBus)
    #expect(message(other.reply).contains("usermod --append --groups roamward") && other.carriedOut == 0, "\(message(other.reply))")
    #expect(message(other.reply).contains(hasBus ? "no such service" : "there is no system bus"))
  }

  @Test("a client that disconnects at the prompt ends it, and nothing is done") func disconnects() throws {
    let outcome = try resume(.hangsAtPrompt, disconnects: true)
    #expect(outcome.carriedOut == 0 && outcome.cancelled == 1)
  }
}
