package import NetworkTypes

/// The state of one request to the network, for people.
package struct ProbeReport: Equatable, Sendable {
  /// The probe's name, or `connectivity check URL`, `portal API URL`.
  package var name: String
  /// `ok`, `fail` or `unknown`; for questions about a portal `open`, `closed` or `unknown`.
  package var answer: String
  /// The answer in words, or what the request waits for.
  package var reason: String
  package var answeredAt: Moment?
  /// The time of the next request without an event; `nil`: only after an event.
  package var nextAt: Moment?
  /// Whether a decision depends on it now.
  package var isWanted: Bool
}

extension ProbeMachine {
  /// The reports of all requests on this network, in a stable order.
  package func reports(at now: Moment) -> [ProbeReport] {
    records.sorted { $0.key.order < $1.key.order }.map { inquiry, record in
      ProbeReport(
        name: inquiry.name, answer: record.result?.word(of: inquiry) ?? "unknown", reason: reason(inquiry, record),
        answeredAt: record.answeredAt, nextAt: record.isWanted && record.run == nil ? record.nextAt : nil, isWanted: record.isWanted)
    }
  }

  /// The answer to a request, as its report names it.
  package func word(of inquiry: Inquiry) -> String { records[inquiry]?.result?.word(of: inquiry) ?? "unknown" }

  private func reason(_ inquiry: Inquiry, _ record: Record) -> String {
    guard let reply = record.reply else { return record.run == nil ? "it waits for its turn" : "it is under way" }
    return reply.text(for: inquiry)
  }
}

extension Inquiry {
  fileprivate var name: String {
    switch self {
    case .probe(let probe): probe.name
    case .connectivity(let check): "connectivity check \(check.url)"
    case .portalAPI(let url): "portal API \(url)"
    }
  }
}

extension InquiryResult {
  fileprivate func word(of inquiry: Inquiry) -> String {
    if case .probe(let probe) = inquiry { return facts[.probe(probe)]?.value.map { $0 ? "ok" : "fail" } ?? "unknown" }
    if facts[.captivePortal]?.value == true { return "closed" }
    return facts[.captivePortal]?.value == false ? "open" : facts[.internet]?.value == false ? "fail" : "unknown"
  }
}
