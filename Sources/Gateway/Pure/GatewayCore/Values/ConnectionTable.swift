package import NetworkTypes

/// Connections of strangers, a bounded number at once. A new one always gets in: where there are too many, another one goes instead.
///
/// The one that goes belongs to the fullest network (an IPv6 /48 or IPv4 /24), there to the fullest /56, then /64 or IPv4 address, then
/// IPv6 address. Of these it is one with the lowest rank, and the oldest. So a stranger with many connections loses only the own ones.
package struct ConnectionTable: Sendable {
  private struct Member {
    /// Of each level, the place of its network in `networks`.
    let networks: SIMD4<Int32>
    let age: UInt64
    var rank: Int
  }

  private struct Network: Hashable {
    let level: Int
    let prefix: IPPrefix
  }

  package let limit: Int
  /// The most of one place (an IPv4 address, or an IPv6 /64).
  package let limitOfPlace: Int

  private var members: [UInt32: Member] = [:]
  private var lastAge: UInt64 = 0
  private var indices: [Network: Int32] = [:]
  private var networks: [(network: Network, count: Int)] = []
  /// Places in `networks` without members.
  private var unused: [Int32] = []

  private static let placeLevel = 2

  package init(limit: Int, limitOfPlace: Int) {
    self.limit = limit
    self.limitOfPlace = limitOfPlace
  }

  package var count: Int { members.count }
  package func contains(_ number: UInt32) -> Bool { members[number] != nil }

  /// The connections of the same place.
  package func count(at address: IPAddress) -> Int {
    indices[Network(level: Self.placeLevel, prefix: address.place)].map { networks[Int($0)].count } ?? 0
  }

  /// Adds a connection. Returns the one that goes for it, which is removed.
  package mutating func add(_ number: UInt32, from address: IPAddress, rank: Int = 0) -> UInt32? {
    remove(number)
    var own = SIMD4<Int32>()
    for (level, prefix) in address.networks.enumerated() { own[level] = enter(Network(level: level, prefix: prefix)) }
    lastAge += 1
    let place = own[Self.placeLevel]
    var victim: UInt32?
    if networks[Int(place)].count > limitOfPlace {
      victim = first { $0.networks[Self.placeLevel] == place }
    } else if members.count >= limit {
      victim = first { _ in true }
    }
    members[number] = Member(networks: own, age: lastAge, rank: rank)
    if let victim { remove(victim) }
    return victim
  }

  /// The connection has shown more of itself: among equals, others go first.
  package mutating func raise(_ number: UInt32, to rank: Int) { members[number]?.rank = rank }

  package mutating func remove(_ number: UInt32) {
    guard let member = members.removeValue(forKey: number) else { return }
    for level in 0..<4 {
      let index = member.networks[level]
      networks[Int(index)].count -= 1
      guard networks[Int(index)].count == 0 else { continue }
      indices[networks[Int(index)].network] = nil
      unused.append(index)
    }
  }

  private mutating func enter(_ network: Network) -> Int32 {
    if let index = indices[network] {
      networks[Int(index)].count += 1
      return index
    }
    let index = unused.popLast() ?? Int32(networks.count)
    if Int(index) == networks.count { networks.append((network, 1)) } else { networks[Int(index)] = (network, 1) }
    indices[network] = index
    return index
  }

  /// The member that goes first.
  private func first(where isCandidate: (Member) -> Bool) -> UInt32? {
    var found: (number: UInt32, member: Member)?
    for (number, member) in members where isCandidate(member) {
      if let found, !goes(member, before: found.member) { continue }
      found = (number, member)
    }
    return found?.number
  }

  private func goes(_ a: Member, before b: Member) -> Bool {
    for level in 0..<4 where a.networks[level] != b.networks[level] {
      let (ofA, ofB) = (networks[Int(a.networks[level])].count, networks[Int(b.networks[level])].count)
      if ofA != ofB { return ofA > ofB }
    }
    return (a.rank, a.age) < (b.rank, b.age)
  }
}

extension IPAddress {
  /// The networks that an address belongs to, from wide to narrow, one of each level.
  package var networks: [IPPrefix] {
    (family == .v4 ? [24, 24, 32, 32] : [48, 56, 64, 128]).map { IPPrefix(self, length: $0) ?? .host(self) }
  }

  /// Of one subscriber at least: an IPv4 address, or an IPv6 /64.
  package var place: IPPrefix { IPPrefix(self, length: family == .v4 ? 32 : 64) ?? .host(self) }
}
