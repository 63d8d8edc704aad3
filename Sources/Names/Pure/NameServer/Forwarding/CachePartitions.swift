/// The parts of the cache, each with the answers of one group of servers. A new number forgets a part.
struct CachePartitions: Sendable {
  private static let mostServers = 256

  private var ofGroups: [UInt32] = []
  /// Of servers that programs asked, in no group of the configuration.
  private var ofServers: [Upstream: UInt32] = [:]
  private var last: UInt32 = 0

  /// Begins anew, with so many groups.
  mutating func begin(groups: Int) {
    ofServers = [:]
    ofGroups = (0..<groups).map { _ in next() }
  }

  mutating func forget(_ group: Int) { ofGroups[group] = next() }

  subscript(group: Int) -> UInt32 { ofGroups[group] }

  subscript(purpose: ForwardedQuery.Purpose) -> UInt32 {
    mutating get {
      guard let server = purpose.server else { return ofGroups[purpose.group] }
      if let known = ofServers[server] { return known }
      if ofServers.count >= Self.mostServers { ofServers = [:] }
      let new = next()
      ofServers[server] = new
      return new
    }
  }

  private mutating func next() -> UInt32 {
    last &+= 1
    return last
  }
}
