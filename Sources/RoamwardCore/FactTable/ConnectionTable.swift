import NetworkTypes

// Whether the internet is reachable, and at what cost.

private let metered = FactDeclaration(
  .metered, ofLink: \.metered, .flag, silence: .means(.flag(false)), proof: .none, isOfHostServices: true,
  "Whether it is paid for by volume.", example: "true"
) { facts, link, known in facts.sources.host.metered(link.question, known.type.value, at: facts.sources.lookedAt) }

private let captivePortal = FactDeclaration(
  .captivePortal, ofMachine: \.captivePortal, .flag, silence: .means(.flag(false)), isOfHostServices: true,
  "Whether a portal stands before the internet, or unknown.", example: "true"
) { facts, primary in primary.map { facts.sources.host.captivePortal($0.question) } ?? .withoutNetwork }

private let internet = FactDeclaration(
  .internet, ofMachine: \.internet, .flag, silence: .means(.flag(true)), isOfHostServices: true,
  "Whether the internet can be reached, or unknown.", example: "unknown"
) { facts, primary in primary.map { facts.sources.host.internet($0.question) } ?? .withoutNetwork }

let connectionFacts = [metered, captivePortal, internet]

// MARK: Keys of a match

extension FactTable {
  package static let probe = CriterionKey<Probe>(
    "probe", kind: nil, fact: nil, "A request from the underlay is answered as it should be.", example: "https://beacon.corp.example/",
    reading: .own, write: { _ in .mapping },
    question: {
      .own("probe \($0.url) \($0.status) \($0.pins)", below: nil, proof: $0.pins.isEmpty ? .forgeable : .hardToForge)
    }, evidence: { .probe($0) }, holds: { probe in { context in context.snapshot.answer(to: probe).truth { $0 } } },
    found: { context, probe, _ in
      let before = context.snapshot.rememberedProbes[probe.name] == nil ? "" : " when it was last here"
      return describe(context.snapshot.answer(to: probe), as: "probe \(probe.url)") {
        "probe \(probe.url): \($0 ? "answered" : "not answered")\(before)"
      }
    })

  static let captivePortal = CriterionKey(
    flag: "captive-portal", RoamwardCore.captivePortal, "A portal stands between the machine and the internet.", example: "true",
    text: ("a captive portal", "no captive portal"), evidence: .captivePortal
  ) { $0.snapshot.captivePortal }

  static let internet = CriterionKey(
    flag: "internet", RoamwardCore.internet, "The internet can be reached from the underlay.", example: "true",
    text: ("internet", "no internet"), evidence: .internet
  ) { $0.snapshot.internet }

  static let metered = CriterionKey(
    flag: "metered", RoamwardCore.metered, "The connection is paid for by volume.", example: "false", text: ("metered", "not metered")
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
