import NetworkTypes

/// Representatives of all networks that a policy can distinguish: one value out of each cell of every fact. The policy's own constants
/// divide the values into cells. The policy gives every network the same decision as one of these.
package struct FactUniverse: Sendable {
  private var valuesByFact: [String: [FactValue]] = [:]
  private var contextsByFact: [String: [EvaluationContext]] = [:]

  /// `nil` if there are too many constants.
  package init?(of conditions: [Condition]) {
    var constants: [String: Set<FactConstant>] = [:]
    for condition in conditions {
      condition.forEachKey { condition in
        guard case .criterion(let criterion) = condition else { return }
        switch criterion.question {
        case .isAmong(let fact), .areAllAmong(let fact): constants[fact, default: []].formUnion(criterion.constants)
        case .own(_, let below, _): if let below { constants[below, default: []].formUnion([]) }
        }
      }
    }
    guard constants.values.allSatisfy({ $0.count <= 1500 }) else { return nil }
    for (key, constants) in constants {
      if let known = undivided[key] {
        valuesByFact[key] = known.values
        contextsByFact[key] = known.contexts
        continue
      }
      guard let fact = FactTable.fact(key) else { continue }
      guard let values = representatives(of: fact, by: constants) else { return nil }
      valuesByFact[key] = values
      contextsByFact[key] = values.compactMap { context(fact, $0) }
    }
  }

  /// One value of each cell; the first is known and absent. If a fact has several values, each is one of them.
  package func values(of fact: String) -> [FactValue] { valuesByFact[fact] ?? [] }

  /// For each of the values, a network that has only this value.
  package func contexts(of fact: String) -> [EvaluationContext] { contextsByFact[fact] ?? [] }
}

/// The facts whose values no constant divides: the same for all policies.
private let undivided: [String: (values: [FactValue], contexts: [EvaluationContext])] = {
  let facts = FactTable.all.filter { if case .ofForm = $0.space { true } else { false } }
  return Dictionary(
    facts.map { fact in
      let values = representatives(of: fact, by: []) ?? []
      return (fact.key, (values, values.compactMap { context(fact, $0) }))
    }
  ) { first, _ in first }
}()

/// Only Wi-Fi has all facts.
private let wifi = NetworkSnapshot(primary: "link", links: [LinkFacts(name: "link", type: .known(.wifi))])

/// A network in which only this fact is known.
private func context(_ fact: FactDeclaration, _ value: FactValue) -> EvaluationContext? {
  var snapshot = wifi
  var only = value
  if fact.isList, case .text(let text) = value { only = .list([text]) }
  guard snapshot.set(fact, to: only, link: 0) else { return nil }
  snapshot.primary = snapshot.links[0].name
  return EvaluationContext(snapshot)
}

/// One value of each cell into which the constants divide a fact's values. `nil` if there are too many.
private func representatives(of fact: FactDeclaration, by constants: Set<FactConstant>) -> [FactValue]? {
  let texts: [String]
  switch fact.space {
  case .ofForm:
    switch fact.form {
    case .flag: return [.flag(false), .flag(true)]
    case .word(let words): texts = words
    default: return []
    }
  case .names(let space):
    guard let names = names(constants, in: space) else { return nil }
    texts = names.compactMap(space.text)
  case .hardwareAddresses: texts = hardwareAddresses(constants).map(\.description)
  case .domains: texts = domains(constants).map(\.description)
  case .addresses: texts = addresses(constants).map(\.description)
  case .moments:
    let windows = constants.compactMap { if case .window(let window) = $0 { window } else { nil } }
    texts = timesToldApart(by: Set(windows)).map(\.description)
  }
  return (fact.silence == .means(.absent) ? [.absent] : []) + texts.map { .text($0) }
}

private func names(_ constants: Set<FactConstant>, in space: NameSpace) -> [[UInt8]]? {
  let named = constants.compactMap { if case .name(let bytes) = $0 { bytes } else { nil } }.sorted { $0.lexicographicallyPrecedes($1) }
  let patterns = constants.compactMap { if case .pattern(let glob) = $0 { glob } else { nil } }
  if patterns.isEmpty {
    var other: [UInt8] = [UInt8(ascii: "X")]
    while named.contains(other) { other.append(UInt8(ascii: "X")) }
    return named + (space.lengths.contains(other.count) ? [other] : [])
  }
  let ordered = patterns.sorted { $0.description < $1.description }.map(\.tokens)
  return stringsToldApart(
    by: named.map { $0.map { PatternToken.byte($0) } } + ordered, lengths: space.lengths, isAllowed: space.isAllowed,
    isForbidden: space.isForbidden)
}

private func hardwareAddresses(_ constants: Set<FactConstant>) -> [MACAddress] {
  let named = Set(constants.compactMap { if case .hardwareAddress(let address) = $0 { address } else { nil } })
  let other = (0...UInt8.max).lazy.compactMap { MACAddress(bytes: [2, 0, 0, 0, 0, $0]) }.first { !named.contains($0) }
  let more = other ?? (0...UInt8.max).lazy.compactMap { MACAddress(bytes: [2, 0, 0, 0, 1, $0]) }.first { !named.contains($0) }
  return named.sorted() + (more.map { [$0] } ?? [])
}

/// The domains of the policy, and a single-label name that is none of them and below none of them.
private func domains(_ constants: Set<FactConstant>) -> [DomainName] {
  let named = Set(constants.compactMap { if case .domain(let name) = $0 { name } else { nil } })
  var text = "elsewhere"
  while true {
    if let name = DomainName(text), !named.contains(name) { return named.sorted() + [name] }
    text = text.utf8.count < 63 ? text + "x" : "y"
  }
}

private func addresses(_ constants: Set<FactConstant>) -> [IPAddress] {
  let prefixes = Set(constants.compactMap { if case .prefix(let prefix) = $0 { prefix } else { nil } })
  let named = Set(constants.compactMap { if case .address(let address) = $0 { address } else { nil } })
  if named.isEmpty { return addressesToldApart(by: prefixes) }
  return addressesToldApart(by: prefixes.union(named.map { .host($0) }))
}

/// One address of every cell. A cell's lowest address is the first of a prefix, the one after the last of a prefix, or the first of the
/// family.
private func addressesToldApart(by prefixes: Set<IPPrefix>) -> [IPAddress] {
  let ordered = prefixes.sorted()
  let edges = ordered.map(\.address) + ordered.compactMap(\.addressBehind) + [.unspecified(.v4), .unspecified(.v6)]
  var seen = Set<[Bool]>()
  return Set(edges).sorted().filter { address in seen.insert(ordered.map { $0.contains(address) }).inserted }
}

extension IPPrefix {
  /// The next address; `nil` at the end of the family.
  fileprivate var addressBehind: IPAddress? {
    let hostBits = family.bitWidth - length
    guard length > 0 else { return nil }
    if family == .v4 {
      let (sum, isOver) = UInt32(truncatingIfNeeded: address.low).addingReportingOverflow(1 << UInt32(hostBits))
      return isOver ? nil : IPAddress(v4: sum)
    }
    if hostBits >= 64 {
      let (high, isOver) = address.high.addingReportingOverflow(1 << UInt64(hostBits - 64))
      return isOver ? nil : IPAddress(family: .v6, high: high, low: 0)
    }
    let (low, carries) = address.low.addingReportingOverflow(1 << UInt64(hostBits))
    let (high, isOver) = address.high.addingReportingOverflow(carries ? 1 : 0)
    return isOver ? nil : IPAddress(family: .v6, high: high, low: low)
  }
}

/// One moment of every cell of the week.
private func timesToldApart(by windows: Set<TimeWindow>) -> [LocalTime] {
  let ordered = windows.sorted { $0.description < $1.description }
  let minutes = Set([0] + ordered.flatMap { [$0.from, $0.to] }).filter { $0 < 1440 }.sorted()
  let moments = Weekday.allCases.flatMap { day in minutes.map { LocalTime(day: day, second: $0 * 60) } }
  var seen = Set<[Bool]>()
  return moments.filter { moment in seen.insert(ordered.map { $0.contains(moment) }).inserted }
}
