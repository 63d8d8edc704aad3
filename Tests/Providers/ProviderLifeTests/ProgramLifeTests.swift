import Lives
import ProviderLife
import ProviderProtocol
import SeededRandom
import Testing

/// The life of a tunnel of another program: its phases, its effects, and answers that come late.
@Suite struct ProgramLifeTests {
  typealias Life = ProgramLife<String>

  private static let failure = TunnelFailure(code: "broken", text: "it is broken", help: .time)

  private func running() throws -> (Life, LifeToken) {
    var life = Life()
    _ = life.start()
    let process = try token(life.launch("a"))
    return (life, process)
  }

  private func token(_ token: LifeToken?) throws -> LifeToken { try #require(token) }

  private func expected(_ end: Life.End) -> [LifeEffect]? { if case .expected(let effects) = end { effects } else { nil } }

  @Test("a run is prepared, its program runs, is ready, leaves and has ended") func life() throws {
    var life = Life()
    let attempt = life.start()
    #expect(life.isPreparing(attempt) && life.program == nil)
    let process = try token(life.launch("a"))
    #expect(!life.isPreparing(attempt) && life.isRunning(process) && life.launch("b") == nil)
    let request = try token(life.request(process))
    #expect(life.applied(request) == [] && life.found() == [.ready] && life.isReady && life.found() == [])
    #expect(life.update(process) { $0 += "b" } != nil && life.program == "ab")
    #expect(life.lost("a", "b") == [.reasserting(code: "a", text: "b")] && life.lost("a", "b") == [] && life.found() == [.ready])
    #expect(life.stop(.person) == [.leave(.person)] && !life.isReady && !life.isRunning(process))
    #expect(life.found() == [] && life.request(process) == nil && life.fail(Self.failure) == [.abandon])
    #expect(expected(life.ended(process)) == [.stopped] && life.program == "ab")
  }

  @Test("it is ready with the last settings and a path, in any order") func ready() throws {
    var (life, process) = try running()
    #expect(life.found() == [])
    let first = try token(life.request(process))
    let second = try token(life.request(process))
    // The first answer is late: the agent still applies the second settings.
    #expect(life.applied(first) == [] && life.applied(second) == [.ready] && life.applied(second) == [])
    // Further settings change nothing of that.
    let third = try token(life.request(process))
    #expect(life.isReady && life.found() == [] && life.applied(third) == [])
  }

  @Test("after a doubt, settings make it ready again; after a loss, only a path does") func doubt() throws {
    for isDoubt in [true, false] {
      var (life, process) = try running()
      #expect(life.doubt("a", "b") == [] && life.found() == [])
      #expect(life.applied(try token(life.request(process))) == [.ready])
      let told = isDoubt ? life.doubt("a", "b") : life.lost("a", "b")
      #expect(told == [.reasserting(code: "a", text: "b")])
      #expect(life.applied(try token(life.request(process))) == (isDoubt ? [.ready] : []))
      #expect(life.found() == (isDoubt ? [] : [.ready]))
    }
    var (life, process) = try running()
    // Without a path there is none to doubt.
    let request = try token(life.request(process))
    #expect(life.doubt("a", "b") == [] && life.applied(request) == [])
  }

  @Test("a run that fails has its end at once, and its process later, which means nothing to the next run") func failing() throws {
    var (life, process) = try running()
    #expect(life.fail(Self.failure) == [.abandon, .failed(Self.failure)] && life.fail(Self.failure) == [] && life.program == "a")
    let attempt = life.start()
    #expect(life.program == nil && expected(life.ended(process)) == [] && life.isPreparing(attempt))
    let next = try token(life.launch("b"))
    #expect(expected(life.ended(process)) == [] && life.update(process, { $0 = "" }) == nil && life.isRunning(next))
  }

  @Test("a stop waits for the process of a run that has failed, and for none that is not there") func stopping() throws {
    var (life, process) = try running()
    _ = life.fail(Self.failure)
    _ = life.start()
    #expect(life.stop(.rule) == [.leave(.rule)] && expected(life.ended(process)) == [.stopped])
    #expect(life.stop(.rule) == [.stopped])
    _ = life.start()
    #expect(life.stop(.rule) == [.stopped])
    (life, process) = try running()
    // It could not be started.
    _ = life.ended(process)
    #expect(life.fail(Self.failure) == [.abandon, .failed(Self.failure)])
    _ = life.start()
    #expect(life.stop(.rule) == [.stopped])
  }

  @Test("a run may go on with another program") func second() throws {
    var (life, process) = try running()
    guard case .unexpected("a", wasReady: false) = life.ended(process) else { throw Self.failure }
    let next = try token(life.launch("b"))
    #expect(expected(life.ended(process)) == [] && life.isRunning(next) && !life.isRunning(process))
    _ = life.found()
    _ = life.applied(try token(life.request(next)))
    guard case .unexpected("b", wasReady: true) = life.ended(next) else { throw Self.failure }
    #expect(life.fail(Self.failure) == [.abandon, .failed(Self.failure)] && life.program == "b")
  }

  /// The agent's side: it accepts an effect, or does not.
  private enum Agent { case idle, starting, connected, reasserting, stopping }

  @Test("random lives: each start has one end, and nothing is told that the agent would not accept", arguments: 0..<200 as Range<UInt64>)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var (life, agent) = (Life(), Agent.idle)
    var (starts, ends) = (0, 0)
    // The processes that have not ended, the last that was started, requests without an answer, and whether settings are applied.
    var (processes, last): ([LifeToken], LifeToken?) = ([], nil)
    var (requests, isApplied): ([LifeToken], Bool) = ([], false)
    func take(_ effects: [LifeEffect]) {
      for effect in effects {
        switch effect {
        case .ready:
          #expect((agent == .starting || agent == .reasserting) && isApplied && requests.isEmpty)
          agent = .connected
        case .reasserting:
          #expect(agent == .connected)
          agent = .reasserting
        case .leave: #expect(agent == .stopping && !processes.isEmpty)
        case .abandon: #expect(agent != .idle)
        case .failed:
          #expect(agent != .idle && agent != .stopping)
          (agent, ends, requests) = (.idle, ends + 1, [])
        case .stopped:
          #expect(agent == .stopping)
          (agent, ends, requests) = (.idle, ends + 1, [])
        }
      }
    }
    for _ in 0..<400 {
      switch random.next() % 10 {
      case 0 where agent == .idle:
        _ = life.start()
        (agent, starts, isApplied) = (.starting, starts + 1, false)
      case 1:
        guard let process = life.launch("\(random.next() % 9)") else { break }
        // The process before, if one is left, is killed, and its end is not told.
        processes = [process]
        (last, requests, isApplied) = (process, [], false)
      case 2 where [.starting, .connected, .reasserting].contains(agent):
        agent = .stopping
        requests = []
        take(life.stop(.person))
      case 3 where random.chance(0.5): take(life.fail(Self.failure))
      case 4:
        guard let process = processes.first, random.chance(0.5) else { break }
        processes = []
        // A run that goes on with another program is not ready meanwhile.
        if random.chance(0.5) { take(life.lost("a", "b")) }
        switch life.ended(process) {
        case .unexpected(let program, let wasReady):
          #expect(process == last && program == life.program)
          if wasReady || random.chance(0.5) { take(life.fail(Self.failure)) }
        case .expected(let effects): take(effects)
        }
      case 5: if let last, let request = life.request(last) { requests.append(request) }
      case 6:
        guard !requests.isEmpty else { break }
        isApplied = true
        let request = requests.removeFirst()
        take(life.applied(request))
      case 7, 8: take(life.found())
      default: take(random.chance(0.5) ? life.lost("a", "b") : life.doubt("a", "b"))
      }
      #expect(starts - ends == (agent == .idle ? 0 : 1))
      #expect(life.isReady == (agent == .connected))
    }
    #expect(starts > 5)
  }
}
