package import GatewayCore
package import NetworkTypes

/// The refused logins that the audit log gets. It keeps each entry, since a hash covers those before: so strangers must not write without a
/// bound, and many refusals from few places must not hide others. Each place and each network has a share of an hour; what is more is
/// counted, and the counts are written at the hour's end.
package struct RefusalNotes: Sendable {
  /// Entries in an hour: of an address (or /64), of a network (/24 or /48), of all.
  package static let ofPlace = 20
  package static let ofNetwork = 30
  package static let ofAll = 90
  /// The entries beyond those of all that the first refusals of further networks have.
  package static let ofFirst = 90
  /// The networks whose counts have an entry of their own. The others share one.
  package static let namedNetworks = 10

  private struct Network {
    var written = 0
    var places: [IPPrefix: Int] = [:]
    var more: [LoginRefusal: Int] = [:]
  }

  private var hour: Int64 = 0
  private var written = 0
  /// Those with an entry.
  private var networks: [IPPrefix: Network] = [:]
  /// Of all other networks.
  private var others: [LoginRefusal: Int] = [:]

  package init() {}

  /// Takes a refusal, at a time. Returns what the audit log gets: entries for an hour that is over, and one for this
  /// refusal if it is within its share.
  package mutating func record(
    _ refusal: LoginRefusal, _ name: String, from source: IPAddress, _ detail: String = "", at now: Timestamp
  ) -> [AuditEntry.Record] {
    let before = endHour(at: now)
    guard admit(refusal, source) else { return before }
    let detail = ["\(refusal), from \(source)", detail].filter { !$0.isEmpty }.joined(separator: "; ")
    return before + [Self.record(name, detail)]
  }

  private mutating func admit(_ refusal: LoginRefusal, _ source: IPAddress) -> Bool {
    let (network, place) = (Self.network(of: source), source.place)
    guard var entry = networks[network] else {
      guard written < Self.ofAll + Self.ofFirst else {
        others[refusal, default: 0] += 1
        return false
      }
      written += 1
      networks[network] = Network(written: 1, places: [place: 1])
      return true
    }
    let isWithin = written < Self.ofAll && entry.written < Self.ofNetwork && entry.places[place, default: 0] < Self.ofPlace
    if isWithin {
      written += 1
      entry.written += 1
      entry.places[place, default: 0] += 1
    } else {
      entry.more[refusal, default: 0] += 1
    }
    networks[network] = entry
    return isWithin
  }

  private static func network(of address: IPAddress) -> IPPrefix {
    IPPrefix(address, length: address.family == .v4 ? 24 : 48) ?? .host(address)
  }

  /// The entries for what was only counted, once its hour is over.
  package mutating func endHour(at now: Timestamp) -> [AuditEntry.Record] {
    guard now.seconds / 3600 != hour else { return [] }
    defer { hour = now.seconds / 3600 }
    return endShares()
  }

  /// The entries for what was only counted until now. All shares begin anew.
  package mutating func endShares() -> [AuditEntry.Record] {
    let counted = networks.filter { !$0.value.more.isEmpty }.map { (network: $0.key, more: $0.value.more) }.sorted { a, b in
      let (first, second) = (Self.total(a.more), Self.total(b.more))
      return first != second ? first > second : a.network < b.network
    }
    let rest = counted.dropFirst(Self.namedNetworks).reduce(others) { $0.merging($1.more, uniquingKeysWith: +) }
    (written, networks, others) = (0, [:], [:])
    return counted.prefix(Self.namedNetworks).map { Self.record($0.more, from: $0.network.description) }
      + (rest.isEmpty ? [] : [Self.record(rest, from: "other networks")])
  }

  private static func total(_ counts: [LoginRefusal: Int]) -> Int { counts.values.reduce(0, +) }

  private static func record(_ counts: [LoginRefusal: Int], from network: String) -> AuditEntry.Record {
    let reasons = counts.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }.map { "\($0.value) \($0.key)" }
    return record("others", "\(total(counts)) more from \(network): \(reasons.joined(separator: ", "))")
  }

  private static func record(_ object: String, _ detail: String) -> AuditEntry.Record {
    AuditEntry.Record(actor: "login", verb: "login refused", object: object, detail: detail)
  }
}
