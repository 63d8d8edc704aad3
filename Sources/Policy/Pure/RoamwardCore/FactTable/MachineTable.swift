import NetworkTypes

// Facts of the machine that are independent of the network.

private let time = FactDeclaration(
  .time, ofMachine: \.time, .text(.localTime, { LocalTime($0) }, \.textForFiles, text: \.description), silence: .isUnknown,
  space: .moments, "The local time; absent: unknown.", example: "mon 09:30"
) { facts, _ in facts.direct("clock and time zone", facts.sources.direct.time, \.description) }

private let power = FactDeclaration(
  .power, ofMachine: \.power, .word, silence: .means(.text(PowerSource.ac.rawValue)), "The power source, or unknown.",
  example: "battery"
) { facts, _ in facts.direct("/sys/class/power_supply", facts.sources.direct.power, \.rawValue) }

let machineFacts = [time, power]

// MARK: Keys of a match

extension FactTable {
  package static let time = CriterionKey<TimeWindow>(
    "time", kind: .time, fact: RoamwardCore.time.key, "Days and hours, by local time.",
    example: "{ days: [mon-fri], from: \"08:00\", to: \"18:00\" }", reading: .own, write: { _ in .mapping },
    constants: { [.window($0)] }, holds: { window in { context in context.snapshot.time.truth(window.contains) } },
    found: { context, window, holds in
      describe(context.snapshot.time, as: "time") { "\($0) is \(holds == .yes ? "" : "not ")in \(window)" }
    })

  static let power = CriterionKey<[PowerSource]>(
    "power", kind: .power, fact: RoamwardCore.power.key, "The power source.", example: "battery",
    reading: .list(.word(of: PowerSource.self)) { $0.compactMap { PowerSource(rawValue: $0) } }, write: { .list($0.map(\.rawValue)) },
    marks: Marking(wanted: { $0.marks { Marks(word: $0) } }, found: { $0.snapshot.power.marks { Marks(word: $0) } }),
    holds: { sources in { context in context.snapshot.power.truth(sources.contains) } },
    found: { context, sources, holds in
      describe(context.snapshot.power, as: "power") { "power \($0.rawValue) \(relation(holds, to: sources.map(\.rawValue)))" }
    })
}

let machineKeys: [any AnyCriterionKey] = [FactTable.time, FactTable.power]

extension Condition {
  /// The time is in the window.
  package static func time(_ window: TimeWindow) -> Condition { FactTable.time(window) }
  /// The machine runs on one of these power sources.
  package static func power(_ sources: [PowerSource]) -> Condition { FactTable.power(sources) }
}
