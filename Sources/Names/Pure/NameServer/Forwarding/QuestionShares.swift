internal import NetworkTypes

/// The numbers of open questions by asker and by domain. An asker or a domain with many gives way to others. They are counted by hashes, so
/// a question costs no search; a collision makes two of them count as one.
struct QuestionShares: Sendable {
  /// The two counters of a question.
  struct Place: Equatable, Sendable {
    fileprivate var domain: UInt16 = 0
    fileprivate var asker: UInt16 = 0
  }

  private static let places = 4096
  private var domains = [UInt16](repeating: 0, count: places)
  private var askers = [UInt16](repeating: 0, count: places)
  private let seed: UInt64

  /// - Parameter seed: unpredictable.
  init(seed: UInt64) { self.seed = seed }

  func place(of question: Question) -> Place {
    var domain = FNV1a(variant: seed)
    for index in Self.domain(of: question.wire) { domain.add(lowerCase(question.wire[index])) }
    // Of a program, the socket: only the agent could tell its user. Of another machine, the address.
    let client = question.client
    var asker = FNV1a(variant: client.isLocal ? seed ^ UInt64(client.port) : seed)
    for byte in client.address.bytes { asker.add(byte) }
    return Place(domain: Self.place(domain), asker: Self.place(asker))
  }

  private static func place(_ hash: FNV1a) -> UInt16 { UInt16((hash.value ^ hash.value >> 32) % UInt64(places)) }

  /// The last two labels of a name.
  private static func domain(of wire: [UInt8]) -> Range<Int> {
    var (offset, last, lastButOne) = (0, 0, 0)
    while wire[offset] > 0 {
      (last, lastButOne) = (offset, last)
      offset += 1 + Int(wire[offset])
    }
    return lastButOne..<offset
  }

  mutating func add(_ place: Place) {
    domains[Int(place.domain)] += 1
    askers[Int(place.asker)] += 1
  }

  mutating func remove(_ place: Place) {
    domains[Int(place.domain)] -= 1
    askers[Int(place.asker)] -= 1
  }

  /// The open questions of the same asker, or for names of the same domain.
  func count(at place: Place) -> Int { Int(max(domains[Int(place.domain)], askers[Int(place.asker)])) }
}
