import GatewayCore
import GatewayPage
import NetworkTypes
import PageProtocol
import SeededRandom
import Testing

@Suite("The life of the page, by events and times alone") struct PageLifeTests {
  private static func setting(port: UInt16 = 80, index: UInt32 = 7) -> PageLife.Setting {
    PageLife.Setting(page: PageSettings(port: port), link: "wg-gateway", index: index, addresses: [IPAddress(v4: 0x0a4d_0001)])
  }

  /// A gateway with its process in virtual time. Each effect is checked.
  private struct World {
    var life = PageLife()
    var now = Moment(nanoseconds: 1_000_000_000_000)
    var isRunning = false
    var pause: (PageLife.Pause, until: Moment)?
    var trouble: String?
    var past: [PageLife.Pause] = []
    var starts = 0

    mutating func take(_ event: PageLife.Event) {
      for effect in life.take(event, at: now) {
        switch effect {
        case .start(let setting):
          #expect(!isRunning && setting.index != 0, "\(event)")
          (isRunning, starts) = (true, starts + 1)
        case .stop: (isRunning, pause) = (false, nil)
        case .wait(let next, let moment):
          #expect(!isRunning && moment > now && !past.contains(next))
          pause = (next, moment)
          past.append(next)
        case .record(let text): trouble = text
        case .log(let text): #expect(!text.isEmpty)
        }
      }
      switch life.phase {
      case .off: #expect(!isRunning && pause == nil && trouble == nil && life.setting == nil, "\(event)")
      case .waiting: #expect(!isRunning && pause != nil, "\(event)")
      case .starting: #expect(isRunning && pause == nil, "\(event)")
      case .serving: #expect(isRunning && pause == nil && trouble == nil, "\(event)")
      }
      if case .serving = life.phase {} else { #expect(life.connections == nil) }
    }

    mutating func waitForPause(_ wanted: PageLife.Setting?) {
      guard let (pause, until) = pause else { return }
      self.pause = nil
      now = max(now, until)
      take(.again(pause, wanted))
    }
  }

  @Test("over random events, one process runs at a time, each failure has one later start, and the page is served", arguments: 0..<200)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var world = World()
    var wanted: PageLife.Setting?
    for _ in 0..<300 {
      switch Int(random.next() % 8) {
      case 0...1:
        wanted = random.chance(0.2) ? nil : Self.setting(port: random.chance(0.5) ? 80 : 8080, index: random.chance(0.3) ? 0 : 7)
        if random.chance(0.7) { world.take(.wanted(wanted)) }
      case 2...3: if world.isRunning { world.take(.accepting) }
      case 4: if world.isRunning { world.take(.failed("it has ended", again: world.now + .seconds(1))) }
      case 5: if let late = world.past.dropLast().last { world.take(.again(late, wanted)) }
      default: world.waitForPause(wanted)
      }
    }
    world.take(.wanted(Self.setting()))
    world.waitForPause(Self.setting())
    world.take(.accepting)
    #expect(world.life.connections != nil, "\(world.life.phase)")
    world.take(.wanted(nil))
  }

  @Test("settings that stay end nothing; a link that is not there yet is waited for; others end the connections") func settings() {
    var world = World()
    world.take(.wanted(Self.setting(index: 0)))
    world.take(.wanted(Self.setting(index: 0)))
    #expect(world.starts == 0 && world.trouble == nil)
    world.waitForPause(Self.setting())
    world.take(.accepting)
    let holder = PageConnections.Holder(user: 1, device: 2)
    let number = world.life.connections?.open(from: IPAddress(v4: 1), by: holder, at: world.now)
    world.take(.wanted(Self.setting()))
    #expect(world.starts == 1 && number == 1 && world.life.connections?.connection(1, at: world.now)?.holder == holder)
    world.take(.wanted(Self.setting(port: 8080)))
    #expect(world.starts == 2 && world.life.connections == nil)
    world.take(.accepting)
    #expect(world.life.connections?.connection(1, at: world.now) == nil)
  }

  @Test("a connection may ask for twenty seconds, and has its number alone") func connections() {
    var random = SplitMix64(seed: 3)
    var table = PageConnectionTable()
    var now = Moment(nanoseconds: 1_000_000_000_000)
    var open: [UInt32: Moment] = [:]
    for _ in 0..<5_000 {
      now = now + .milliseconds(Int64(random.next() % 200))
      let holder = PageConnections.Holder(user: Int64(random.next() % 9), device: Int64(random.next() % 20))
      if let number = table.open(from: IPAddress(v4: 1), by: holder, at: now) {
        #expect(number != 0 && open[number] == nil)
        open[number] = now
      }
      if random.chance(0.2), let number = open.keys.sorted().first {
        table.close(number)
        open[number] = nil
      }
      for (number, since) in open {
        let isValid = now - since < PageConnectionTable.life
        #expect((table.connection(number, at: now) != nil) == isValid)
        if !isValid { open[number] = nil }
      }
      #expect(table.count <= PageConnections.limit)
    }
  }
}
