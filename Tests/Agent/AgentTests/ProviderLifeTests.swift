import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import SeededRandom
import Testing

@testable import AgentCore

/// The life of a provider's program as a machine, with a real session and a program in memory.
@Suite struct ProviderLifeTests {
  private static let now = Moment(nanoseconds: 1_000_000_000)

  /// Carries out effects as the channel does, and tells which of them make no sense.
  private struct Model {
    enum Program { case none, running, ending }

    var life = ProviderLife()
    var program = Program.none
    var mark: UInt32 = 1
    var messages = 0
    /// Whether the next program cannot be started.
    var isBroken = false
    /// The wish of the tunnel's machine, which ends with a failure.
    var isWanted = false
    var (runs, starts) = (0, 0)
    var trouble: [String] = []

    mutating func take(_ effects: [ProviderLife.Effect]) {
      for effect in effects {
        switch effect {
        case .startProgram:
          if program != .none { trouble.append("a program beside another") }
          if !isWanted, messages == 0 { trouble.append("a program for nothing") }
          starts += 1
          if isBroken {
            take(life.startFailed(Refusal(code: "provider-failed", text: "no program"), at: now))
            messages = 0
          } else {
            program = .running
            life.programStarted(.init(session: ProviderSession(tunnel: "corp", at: now), mark: mark))
          }
        case .endProgram:
          if program != .running { trouble.append("the end of nothing") }
          program = .ending
        case .startRun:
          if life.session?.state != .idle || !life.run.isDue { trouble.append("a run beside another") }
          if life.program?.mark != mark { trouble.append("a run past its outer tunnel") }
          if isBroken {
            take(life.cannotBeginRun("no credential", hasMessages: messages > 0))
            continue
          }
          runs += 1
          life.beginRun(on: nil)
          guard var session = life.session else { continue }
          let actions = (try? session.start(StartRequest(), at: now)) ?? []
          life.session = session
          take(actions)
        case .stopRun: perform { $0.stop(.rule, at: now) }
        case .report:
          if !isWanted { trouble.append("a failure of no run") }
          isWanted = false
        case .log: if isWanted { trouble.append("a failure of a run that nobody was told") }
        }
      }
    }

    mutating func take(_ actions: [ProviderSession.Action]) {
      for action in actions {
        switch action {
        case .stateChanged(.idle):
          take(life.becameIdle())
          messages = life.usable == nil ? messages : 0
        case .runEnded:
          let (isOfTunnel, effects) = life.runEnded(hasMessages: messages > 0)
          take(effects)
          if isOfTunnel, !life.run.isDue { isWanted = false }
        case .neverGreeted(let failure): take(life.end(after: FailedStart(failure)))
        case .close: take(life.end())
        default: break
        }
      }
    }

    mutating func perform(_ body: (inout ProviderSession) -> [ProviderSession.Action]) {
      guard var session = life.session else { return }
      let actions = body(&session)
      life.session = session
      take(actions)
    }

    mutating func say(_ message: ProviderMessage) {
      guard let bytes = try? message.encoded() else { return }
      perform { $0.receive(bytes, at: now) }
    }

    mutating func prepare() {
      isWanted = true
      take(life.prepare(mark: mark))
    }

    mutating func tearDown() {
      isWanted = false
      take(life.tearDown())
    }

    mutating func endProgram() {
      guard program != .none else { return }
      program = .none
      perform { $0.channelClosed() }
      // The platform says once that it has ended; until then a second end is one of nothing.
      trouble.removeAll { $0 == "the end of nothing" }
      program = .none
      let (failed, effects) = life.programEnded(hasWaitingMessages: messages > 0)
      if failed != nil {
        take(life.startFailed(Refusal(code: "provider-failed", text: "no hello"), at: now))
        messages = 0
      }
      take(effects)
    }
  }

  @Test("in random orders of events one program runs at a time, for a run or a message, and ends with them") func random() {
    for seed in UInt64(1)...3000 {
      var random = SplitMix64(seed: seed)
      var model = Model()
      for _ in 0..<60 {
        model.isBroken = Int.random(in: 0..<8, using: &random) == 0
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: if !model.isWanted { model.prepare() }
        case 2: model.tearDown()
        case 3:
          // Another network came while it started.
          model.tearDown()
          model.prepare()
        case 4:
          model.messages += 1
          model.take(model.life.messageCame())
        case 5: model.mark = model.isWanted ? model.mark : 3 - model.mark
        case 6: model.endProgram()
        case 7 where model.life.session?.state == .stopping: model.say(.stopped)
        case 7 where model.life.session?.isRunning == true:
          model.say(.failed(TunnelFailure(code: "server-gone", text: "gone", help: .time)))
        default: if model.life.session?.state == .greeting { model.say(.hello(versions: 1...1, program: "p 1")) }
        }
        #expect(model.trouble.isEmpty, "seed \(seed)")
        #expect((model.life.session == nil) == (model.program == .none), "seed \(seed)")
        #expect(model.life.run.begun == nil || model.life.session != nil, "a run without a program: seed \(seed)")
      }
      // A program that does all that it is asked: the run that is wanted begins, and nothing runs without a wish.
      (model.isBroken, model.messages) = (false, 0)
      for wish in [true, false] {
        wish ? { if !model.isWanted { model.prepare() } }() : model.tearDown()
        for _ in 0..<8 {
          if model.program == .ending { model.endProgram() }
          if model.life.session?.state == .greeting { model.say(.hello(versions: 1...1, program: "p 1")) }
          if model.life.session?.state == .stopping { model.say(.stopped) }
        }
        #expect((model.life.run.begun != nil) == wish && (model.program == .running) == wish && model.trouble.isEmpty, "seed \(seed)")
      }
    }
  }

  @Test("a run that is wanted again while the one before stops begins in the same program") func again() {
    var model = Model()
    model.prepare()
    model.say(.hello(versions: 1...1, program: "p 1"))
    model.tearDown()
    model.prepare()
    #expect(model.life.session?.state == .stopping && model.life.run.isDue)
    model.say(.stopped)
    #expect(model.life.session?.state == .starting && model.program == .running && model.runs == 2 && model.starts == 1)
  }

  @Test("a message that failed a moment ago is not worth another start, and a run is") func failures() {
    var model = Model()
    model.isBroken = true
    model.messages = 1
    model.take(model.life.messageCame())
    #expect(model.life.recentFailure(at: Self.now + .milliseconds(999))?.code == "provider-failed")
    #expect(model.life.recentFailure(at: Self.now + .seconds(1)) == nil)
    model.prepare()
    #expect(model.starts == 2 && !model.isWanted && !model.life.run.isDue)
  }

  @Test("another agent's program that this one would not have started so stops its run first, and gets no other")
  func replaced() {
    var model = Model()
    let left = ProviderSession.Resumption(version: ProtocolLimits.version, program: "p 1", lastRequest: 3, lastMessage: 0, mayAsk: false)
    guard let resumed = ProviderSession(resuming: left, tunnel: "corp", at: Self.now) else {
      Issue.record("the version is another one")
      return
    }
    model.program = .running
    model.life.replace(.init(session: resumed, mark: 1))
    model.perform { $0.stop(.policyChanged, at: Self.now) }
    model.prepare()
    model.say(.stopped)
    #expect(model.program == .ending && model.runs == 0)
    model.endProgram()
    #expect(model.starts == 1 && model.life.run.isDue)
  }
}
