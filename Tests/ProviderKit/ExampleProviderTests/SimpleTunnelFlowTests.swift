import SeededRandom
import SimpleTunnel
import Testing

/// Flows of applications, at both ends.
@Suite struct SimpleTunnelFlowTests {
  @Test("an end is passed on in its direction alone; both ends close") func directions() {
    var flow = SimpleTunnelFlow()
    #expect(flow.take(.data([1])) == [.tell(.data([1], host: nil, port: nil))])
    #expect(flow.take(.message(.data([2], host: nil, port: nil))) == [.write([2], host: nil, port: nil)])
    #expect(flow.take(.message(.close(.none))) == [])
    #expect(flow.take(.message(.close(.write))) == [.finish])
    #expect(flow.take(.message(.data([3], host: nil, port: nil))) == [] && flow.take(.message(.close(.write))) == [])
    #expect(flow.take(.data([4])) == [.tell(.data([4], host: nil, port: nil))])
    #expect(flow.take(.ended) == [.tell(.close(.write)), .close])
    var other = SimpleTunnelFlow()
    #expect(other.take(.ended) == [.tell(.close(.write))] && other.take(.ended) == [] && other.take(.data([1])) == [])
    #expect(other.take(.message(.data([5], host: nil, port: nil))) == [.write([5], host: nil, port: nil)])
    #expect(other.take(.message(.close(.write))) == [.finish, .close])
    // `read`: nothing more of the endpoint is wanted.
    var third = SimpleTunnelFlow()
    #expect(third.take(.message(.close(.read))) == [.pause] && third.take(.data([1])) == [] && third.take(.message(.close(.read))) == [])
    #expect(third.take(.message(.suspend)) == [] && third.take(.message(.resume)) == [])
    #expect(third.take(.message(.close(.write))) == [.finish, .close])
  }

  @Test("a full endpoint suspends the other end, and keeps what it has until it is taken, also at a close") func pressure() {
    var flow = SimpleTunnelFlow()
    let (bytes, written) = (
      SimpleTunnelMessage.Body.data([1], host: nil, port: nil), [SimpleTunnelFlow.Action.write([1], host: nil, port: nil)]
    )
    #expect(flow.take(.congested) == [.tell(.suspend)] && flow.take(.congested) == [] && flow.take(.message(bytes)) == written)
    #expect(flow.take(.drained) == [.tell(.resume)] && flow.take(.drained) == [])
    _ = flow.take(.congested)
    #expect(flow.take(.message(.close(.write))) == [] && flow.take(.drained) == [.finish])
    #expect(flow.take(.ended) == [.tell(.close(.write)), .close])
    var all = SimpleTunnelFlow()
    _ = all.take(.congested)
    #expect(all.take(.message(.close(.all))) == [.pause] && all.take(.data([1])) == [] && all.take(.drained) == [.close])
    var idle = SimpleTunnelFlow()
    #expect(idle.take(.message(.close(.all))) == [.close])
    // One that goes on after `suspend` is closed before its bytes are too many.
    var greedy = SimpleTunnelFlow()
    _ = greedy.take(.congested)
    let part = SimpleTunnelMessage.Body.data([UInt8](repeating: 0, count: 65_536), host: nil, port: nil)
    for _ in 0..<(SimpleTunnelFlow.mostKept / 65_536) { #expect(greedy.take(.message(part)).count == 1) }
    #expect(greedy.take(.message(bytes)) == [.tell(.close(.all)), .close])
  }

  @Test("reads pause for the other end and for a full stream, and go on when neither is") func pauses() {
    var flow = SimpleTunnelFlow()
    #expect(flow.take(.message(.suspend)) == [.pause] && flow.take(.message(.suspend)) == [] && flow.take(.streamFull) == [])
    #expect(flow.take(.message(.resume)) == [] && flow.take(.streamDrained) == [.resume] && flow.take(.message(.resume)) == [])
    #expect(flow.take(.broken) == [.tell(.close(.all)), .close])
    var flows = SimpleTunnelFlows()
    #expect(flows.add(1) == [] && flows.fill() == [.endpoint(1, .pause)] && flows.add(2) == [.endpoint(2, .pause)])
    #expect(flows.drain() == [.endpoint(1, .resume), .endpoint(2, .resume)] && flows.count == 2)
  }

  /// An application or a destination with a small socket.
  private struct End {
    var input: [UInt8]
    var kept: [UInt8] = []
    var received: [UInt8] = []
    var isPaused = false
    var hasEnded = false
    var isFinished = false
    var isClosed = false
  }

  @Test("client and server: all bytes of both directions arrive, whatever is full, in any cut", arguments: UInt64(1)...40)
  func together(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var server = SimpleTunnelServer(configuration: Configuration(), pool: nil)
    let peer = server.connect()
    var client = SimpleTunnelFlowClient()
    var toServer: [UInt8] = []
    var toClient: [UInt8] = []
    let ids: [UInt32] = [7, 8, 9]
    var applications: [UInt32: End] = [:]
    var destinations: [UInt32: End] = [:]
    for id in ids {
      let bytes = { (0..<Int(random.next() % 3000)).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
      (applications[id], destinations[id]) = (End(input: bytes()), End(input: bytes()))
    }
    let (said, answered) = (applications.mapValues(\.input), destinations.mapValues(\.input))
    var opened: Set<UInt32> = []

    func perform(_ action: SimpleTunnelFlow.Action, at end: inout End) -> SimpleTunnelFlow.Event? {
      switch action {
      case .write(let bytes, _, _):
        end.kept += bytes
        return end.kept.count > 100 ? .congested : nil
      case .finish: end.isFinished = true
      case .pause: end.isPaused = true
      case .resume: end.isPaused = false
      case .close: end.isClosed = true
      case .tell: Issue.record("not for an endpoint")
      }
      return nil
    }
    func run(_ actions: [SimpleTunnelServer.Action]) {
      for action in actions {
        switch action {
        case .send(_, let bytes): toClient += bytes
        case .open(let flow, _): run(server.opened(flow, .success))
        case .endpoint(let flow, let action):
          guard var end = destinations[flow.identifier] else { continue }
          let event = perform(action, at: &end)
          destinations[flow.identifier] = end
          if let event { run(server.take(event, of: flow)) }
        case .forward, .giveUp, .close: Issue.record("\(action)")
        }
      }
      guard toClient.count > 2000 else { return }
      let paused = server.fill(peer)
      if !paused.isEmpty { run(paused) }
    }
    func run(_ actions: [SimpleTunnelFlowClient.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes): toServer += bytes
        case .opened(let id, let result):
          #expect(result == .success)
          opened.insert(id)
        case .endpoint(let id, let action):
          guard var end = applications[id] else { continue }
          let event = perform(action, at: &end)
          applications[id] = end
          if let event { run(client.take(event, of: id)) }
        case .breakOff: Issue.record("broken")
        }
      }
      guard toServer.count > 2000 else { return }
      let paused = client.fill()
      if !paused.isEmpty { run(paused) }
    }
    /// Reads a part of an end's input, or tells its end.
    func read(_ end: inout End) -> SimpleTunnelFlow.Event? {
      guard !end.isPaused, !end.hasEnded, !end.isClosed else { return nil }
      guard !end.input.isEmpty else {
        end.hasEnded = true
        return .ended
      }
      let part = Array(end.input.prefix(1 + Int(random.next() % 400)))
      end.input.removeFirst(part.count)
      return .data(part)
    }
    /// The socket takes a part of what it keeps.
    func write(_ end: inout End) -> SimpleTunnelFlow.Event? {
      guard !end.kept.isEmpty else { return nil }
      let count = min(end.kept.count, 1 + Int(random.next() % 300))
      end.received += end.kept.prefix(count)
      end.kept.removeFirst(count)
      return end.kept.isEmpty ? .drained : nil
    }
    for id in ids { run(client.open(.stream(host: "git.corp.example", port: 443), as: id)) }
    for _ in 0..<200_000 where !ids.allSatisfy({ applications[$0]?.isClosed == true && destinations[$0]?.isClosed == true }) {
      let id = random.pick(ids)
      let flow = SimpleTunnelServer.Flow(client: peer, identifier: id)
      switch random.next() % 6 {
      case 0:
        let count = min(toServer.count, 1 + Int(random.next() % 700))
        let part = Array(toServer.prefix(count))
        toServer.removeFirst(count)
        run(server.receive(part, from: peer))
        if toServer.isEmpty { run(client.drain()) }
      case 1:
        let count = min(toClient.count, 1 + Int(random.next() % 700))
        let part = Array(toClient.prefix(count))
        toClient.removeFirst(count)
        run(client.receive(part))
        if toClient.isEmpty { run(server.drain(peer)) }
      case 2 where opened.contains(id):
        guard var end = applications[id] else { continue }
        let event = read(&end)
        applications[id] = end
        if let event { run(client.take(event, of: id)) }
      case 3 where opened.contains(id):
        guard var end = destinations[id] else { continue }
        let event = read(&end)
        destinations[id] = end
        if let event { run(server.take(event, of: flow)) }
      case 4:
        guard var end = applications[id] else { continue }
        let event = write(&end)
        applications[id] = end
        if let event { run(client.take(event, of: id)) }
      default:
        guard var end = destinations[id] else { continue }
        let event = write(&end)
        destinations[id] = end
        if let event { run(server.take(event, of: flow)) }
      }
    }
    for id in ids {
      let (application, destination) = (try #require(applications[id]), try #require(destinations[id]))
      #expect(destination.received + destination.kept == said[id] && application.received + application.kept == answered[id])
      #expect(application.isClosed && destination.isClosed && application.isFinished && destination.isFinished)
      #expect(client.isFree(id))
    }
  }
}
