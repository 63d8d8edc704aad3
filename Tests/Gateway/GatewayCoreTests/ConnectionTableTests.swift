import GatewayCore
import NetworkTypes
import SeededRandom
import Testing

/// Addresses of few networks, so that they meet.
private func someAddress(_ random: inout SplitMix64) throws -> IPAddress {
  func digit(_ below: UInt64) -> String { String(random.next() % below, radix: 16) }
  let text =
    random.chance(0.3)
    ? "198.51.\(random.next() % 3).\(random.next() % 6)" : "2001:db8:\(digit(3)):\(digit(3))0\(digit(3))::\(digit(4))"
  return try #require(IPAddress(text))
}

@Suite("Connections of strangers") struct ConnectionTableTests {
  private struct Member {
    let number: UInt32
    let networks: [IPPrefix]
    var rank: Int
  }

  /// The connection that is closed first, found by counting anew: `all` in the order of their age, with the one that is added.
  private func victim(of all: [Member], among some: some Sequence<Member>) -> UInt32? {
    func counts(_ member: Member) -> [Int] { (0..<4).map { level in all.count { $0.networks[level] == member.networks[level] } } }
    var found: (member: Member, counts: [Int])?
    for member in some {
      let own = counts(member)
      guard let present = found else {
        found = (member, own)
        continue
      }
      let difference = zip(own, present.counts).first { $0 != $1 }
      if let (a, b) = difference {
        if a > b { found = (member, own) }
      } else if member.rank < present.member.rank {
        found = (member, own)
      }
    }
    return found?.member.number
  }

  @Test("a newcomer gets in; the oldest with the lowest rank of the fullest network goes, as by counting anew", arguments: 1...100)
  func lives(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let limit = 1 + Int(random.next() % 20), ofPlace = 1 + Int(random.next() % 8)
    var table = ConnectionTable(limit: limit, limitOfPlace: ofPlace)
    var members: [Member] = []
    for number in 0..<UInt32(300) {
      switch random.next() % 10 {
      case 0 where !members.isEmpty:
        let index = Int(random.next() % UInt64(members.count))
        table.remove(members.remove(at: index).number)
      case 1...2:
        guard !members.isEmpty else { continue }
        let index = Int(random.next() % UInt64(members.count)), rank = Int(random.next() % 3)
        members[index].rank = rank
        table.raise(members[index].number, to: rank)
      default:
        let address = try someAddress(&random)
        let new = Member(number: number, networks: address.networks, rank: 0)
        let ofItsPlace = members.filter { $0.networks[2] == address.place }
        var expected: UInt32?
        if ofItsPlace.count >= ofPlace {
          expected = victim(of: members + [new], among: ofItsPlace)
        } else if members.count >= limit {
          expected = victim(of: members + [new], among: members)
        }
        #expect(table.add(number, from: address) == expected, "seed \(seed), \(number)")
        members.append(new)
        members.removeAll { $0.number == expected }
        #expect(table.contains(number) && table.count(at: address) <= ofPlace)
      }
      #expect(table.count == members.count && table.count <= limit)
    }
  }

  @Test("who has the only connection of a network keeps it, however many connections strangers of fewer networks begin", arguments: 1...30)
  func honest(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var table = ConnectionTable(limit: 100, limitOfPlace: 16)
    // Half as many networks as there is room for: each has two or more when it is full.
    let networks = 1 + random.next() % 50
    var (number, lost): (UInt32, Int) = (0, 0)
    var guests: [UInt32] = []
    for _ in 0..<2000 {
      number += 1
      let stranger = try #require(IPAddress("2001:db8:\(String(random.next() % networks, radix: 16)):\(random.next() % 9)::\(number % 7)"))
      if let victim = table.add(number, from: stranger, rank: Int(random.next() % 3)), guests.contains(victim) { lost += 1 }
      guard random.chance(0.05) else { continue }
      number += 1
      if let victim = table.add(number, from: try #require(IPAddress("2001:db8:f\(String(number, radix: 16))::1"))) {
        lost += guests.contains(victim) ? 1 : 0
      }
      guests.append(number)
      // They end before there are so many that nobody has more than one.
      if guests.count > 10 { table.remove(guests.removeFirst()) }
    }
    #expect(lost == 0 && table.count <= 100)
  }
}

@Suite("Work for strangers") struct WorkQueueTests {
  @Test("each is begun once or told; nothing is lost; bounds hold", arguments: 1...100) func lives(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let atWork = 1 + Int(random.next() % 3), waiting = 1 + Int(random.next() % 12)
    var queue = WorkQueue(atWork: atWork, waiting: waiting, newcomer: random.chance(0.5) ? .first : .last)
    var (waits, begun): (Set<UInt32>, Set<UInt32>) = ([], [])
    for number in 0..<UInt32(400) {
      switch random.next() % 4 {
      case 0:
        if let next = queue.begin() {
          #expect(waits.remove(next) != nil && begun.insert(next).inserted)
        } else {
          #expect(waits.isEmpty || begun.count == atWork)
        }
      case 1:
        guard let one = begun.union(waits).sorted().randomElement(using: &random) else { continue }
        queue.end(one)
        begun.remove(one)
        waits.remove(one)
      default:
        waits.insert(number)
        if let told = queue.add(number, from: try someAddress(&random)) { #expect(waits.remove(told) != nil) }
      }
      #expect(queue.waiting == waits.count && waits.count <= waiting && begun.count <= atWork, "seed \(seed)")
    }
  }

  @Test("of more handshakes than can be served, those that are begun are finished, and a guest's is within a few turns", arguments: 1...20)
  func overload(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var table = ConnectionTable(limit: 200, limitOfPlace: 64)
    var (first, second) = (WorkQueue(atWork: 1, newcomer: .first), WorkQueue(atWork: 1, newcomer: .first))
    var addresses: [UInt32: IPAddress] = [:]
    var (number, begun, finished): (UInt32, Int, Int) = (0, 0, 0)
    var guests: [UInt32: Int] = [:]
    func connect(_ address: IPAddress) {
      number += 1
      addresses[number] = address
      if let victim = table.add(number, from: address) {
        first.end(victim)
        second.end(victim)
        addresses[victim] = nil
      }
      _ = first.add(number, from: address)
    }
    for turn in 0..<2000 {
      // 198.18.0.0/15
      for _ in 0..<16 { connect(IPAddress(v4: 0xc612_0000 | UInt32(random.next() % 120) << 8 | UInt32(random.next() % 250))) }
      if turn % 50 == 25 {
        connect(try #require(IPAddress("192.0.2.\(turn / 50)")))
        guests[number] = turn
      }
      for _ in 0..<2 {
        if let next = second.begin() {
          second.end(next)
          table.remove(next)
          finished += 1
          if let came = guests.removeValue(forKey: next) { #expect(turn - came < 8) }
        } else if let next = first.begin(), let address = addresses[next] {
          first.end(next)
          begun += 1
          _ = second.add(next, from: address)
        }
      }
    }
    #expect(guests.isEmpty && begun - finished <= 1 && finished > 1500, "\(finished) of \(begun)")
  }

  @Test("one piece of work waits for one of each other network, and is not told, however much others have") func turns() throws {
    var queue = WorkQueue(atWork: 1, waiting: 64)
    for number in 0..<UInt32(500) {
      _ = queue.add(number, from: try #require(IPAddress("2001:db8:\(number % 3):\(number % 125)::\(number % 2)")))
    }
    #expect(queue.waiting == 64)
    let honest = queue.add(1000, from: try #require(IPAddress("192.0.2.7")))
    #expect(honest != 1000 && honest != nil)
    var order: [UInt32] = []
    while let number = queue.begin() {
      order.append(number)
      queue.end(number)
    }
    #expect(order.count == 64 && order.prefix(4).contains(1000), "\(order)")
    // Of one network, its parts take turns as well.
    for number in 0..<UInt32(40) { _ = queue.add(number, from: try #require(IPAddress("2001:db8:1:100::\(String(number, radix: 16))"))) }
    _ = queue.add(100, from: try #require(IPAddress("2001:db8:1:1::1")))
    _ = queue.add(101, from: try #require(IPAddress("2001:db8:1:101::1")))
    let first = (0..<4).map { _ in
      let number = queue.begin()
      number.map { queue.end($0) }
      return number
    }
    #expect(first.contains(100) && first.contains(101))
  }
}
