import NetworkTypes

// Whether the internet is reachable, and at what cost.

private let metered = FactDeclaration(
  .metered, ofLink: \.metered, .flag, silence: .means(.flag(false)), proof: .none, isOfHostServices: true,
  "Metered connection.", example: "true"
) { facts, link, known in facts.sources.host.metered(link.question, known.type.value, at: facts.sources.lookedAt) }

private let captivePortal = FactDeclaration(
  .captivePortal, ofMachine: \.captivePortal, .flag, silence: .means(.flag(false)), proof: .forgeable, isOfHostServices: true,
  "A captive portal is between the machine and the internet; true, false or unknown.", example: "true"
) { facts, primary in primary.map { facts.sources.host.captivePortal($0.question) } ?? .withoutNetwork }

private let internet = FactDeclaration(
  .internet, ofMachine: \.internet, .flag, silence: .means(.flag(true)), proof: .forgeable, isOfHostServices: true,
  "The internet is reachable; true, false or unknown.", example: "unknown"
) { facts, primary in primary.map { facts.sources.host.internet($0.question) } ?? .withoutNetwork }

let connectionFacts = [metered, captivePortal, internet]

// MARK: Keys of a match

extension FactTable {
  package static let probe = CriterionKey<Probe>(
    "probe", kind: nil, fact: nil, "A request on the underlay gets the expected answer.", example: "https://beacon.corp.example/",
    reading: .own, write: { _ in .mapping },
    question: {
      .own(
        "probe \($0.url) \($0.status) \($0.pins)", below: nil,
        proof: $0.pins.isEmpty && !$0.url.hasPrefix("https:") ? .forgeable : .hardToForge)
    }, evidence: { .probe($0) }, holds: { probe in { context in context.snapshot.answer(to: probe).truth { $0 } } },
    found: { context, probe, _ in
      let before = context.snapshot.rememberedProbes[probe.name] == nil ? "" : " when it was last here"
      return describe(context.snapshot.answer(to: probe), as: "probe \(probe.url)") {
        "probe \(probe.url): \($0 ? "answered" : "not answered")\(before)"
      }
    })

  static let captivePortal = CriterionKey(
    flag: "captive-portal", RoamwardCore.captivePortal, "A captive portal is between the machine and the internet.", example: "true",
    text: ("a captive portal", "no captive portal"), evidence: .captivePortal
  ) { $0.snapshot.captivePortal }

  static let internet = CriterionKey(
    flag: "internet", RoamwardCore.internet, "The internet is reachable on the underlay.", example: "true",
    text: ("internet", "no internet"), evidence: .internet
  ) { $0.snapshot.internet }

  static let metered = CriterionKey(
    flag: "metered", RoamwardCore.metered, "The connection is metered.", example: "false", text: ("metered", "not metered")
  ) { $0.link.metered }
}

let connectionKeys: [any AnyCriterionKey] = [FactTable.probe, FactTable.captivePortal, FactTable.internet, FactTable.metered]

extension Condition {
  /// The probe got the answer that the policy expects.
  package static func probe(_ probe: Probe) -> Condition { FactTable.probe(probe) }
  /// The machine is behind a captive portal.
  package static func captivePortal(_ wanted: Bool) -> Condition { FactTable.captivePortal(wanted) }
  /// The internet is reachable.
  package static func internet(_ wanted: Bool) -> Condition { FactTable.internet(wanted) }
  /// The network is metered, according to this host's network manager.
  package static func metered(_ wanted: Bool) -> Condition { FactTable.metered(wanted) }
}
