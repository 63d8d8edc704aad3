import NetworkTypes

/// A request that yields evidence.
package enum Inquiry: Hashable, Sendable {
  case probe(Probe)
  /// A connectivity check, for both `captive-portal` and `internet`.
  case connectivity(ConnectivityCheck)
  /// The API of this network's captive portal, as DHCP or a router advertisement named it (RFC 8910).
  case portalAPI(String)

  package var request: ProbeRequest {
    switch self {
    case .probe(let probe): ProbeRequest(url: probe.url, pins: probe.pins, timeout: probe.timeout)
    case .connectivity(let check): ProbeRequest(url: check.url, bodyLimit: check.content == nil ? 0 : ConnectivityCheck.bodyLimit)
    case .portalAPI(let url): ProbeRequest(url: url, accept: "application/captive+json", bodyLimit: 16_384)
    }
  }

  package var url: String {
    switch self {
    case .probe(let probe): probe.url
    case .connectivity(let check): check.url
    case .portalAPI(let url): url
    }
  }

  /// A stable order, so that the same machine does the same things in the same order.
  var order: String {
    switch self {
    case .portalAPI(let url): "0 \(url)"
    case .connectivity(let check): "1 \(check.url) \(check.content ?? "")"
    case .probe(let probe): "2 \(probe.name)"
    }
  }
}

/// The result of an answer.
struct InquiryResult: Hashable, Sendable {
  enum Outlook: Equatable, Sendable {
    /// The result is valid until an event on the network.
    case settled
    /// The result may change in a moment on a network that is still coming up; after that it is final.
    case doubtful
    /// An intermediary caused the result and may go at any time without an event: a captive portal that opens.
    case passing
  }

  var facts: [Evidence: Fact<Bool>]
  var outlook: Outlook

  init(of inquiry: Inquiry, _ reply: ProbeReply) {
    switch inquiry {
    case .probe(let probe): self.init(of: probe, reply)
    case .connectivity(let check): self.init(of: check, reply)
    case .portalAPI: self.init(ofPortal: reply)
    }
  }

  private init(_ outlook: Outlook, _ facts: [Evidence: Fact<Bool>]) {
    self.facts = facts
    self.outlook = outlook
  }

  private init(of probe: Probe, _ reply: ProbeReply) {
    let evidence = Evidence.probe(probe)
    switch reply {
    case .response(probe.status, _): self.init(.settled, [evidence: .known(true)])
    // An answer from a server with a proven identity is reliable. Over plain http a portal may have sent it.
    case .response: self.init(probe.url.hasPrefix("https:") ? .doubtful : .passing, [evidence: .known(false)])
    case .impostor: self.init(.passing, [evidence: .known(false)])
    case .unanswered, .portal: self.init(.doubtful, [evidence: .known(false)])
    case .unsent(let reason): self.init(.doubtful, [evidence: .unknown(reason: "it cannot be sent: \(reason)")])
    }
  }

  private init(of check: ConnectivityCheck, _ reply: ProbeReply) {
    func nothing(_ reason: String, internet: Fact<Bool>?, _ outlook: Outlook) -> InquiryResult {
      let unknown = Fact<Bool>.unknown(reason: "the connectivity check \(reason)")
      return InquiryResult(outlook, [.captivePortal: unknown, .internet: internet ?? unknown])
    }
    switch reply {
    case .response(let status, let body) where check.isMet(by: status, body):
      self.init(.settled, [.captivePortal: .known(false), .internet: .known(true)])
    // 511 comes from the portal itself (RFC 6585 section 6); other server errors say nothing about the network path.
    case .response(let status, _) where status >= 500 && status != 511: self = nothing("was answered \(status)", internet: nil, .doubtful)
    case .response, .impostor: self.init(.passing, [.captivePortal: .known(true), .internet: .known(false)])
    case .unanswered(let reason), .unsent(let reason):
      if case .unsent = reply {
        self = nothing("cannot be sent: \(reason)", internet: nil, .doubtful)
      } else {
        self = nothing("was not answered: \(reason)", internet: .known(false), .passing)
      }
    case .portal: self = nothing("was answered by a portal's API", internet: nil, .doubtful)
    }
  }

  private init(ofPortal reply: ProbeReply) {
    func nothing(_ reason: String) -> InquiryResult {
      InquiryResult(.doubtful, [.captivePortal: .unknown(reason: "the portal's API \(reason)")])
    }
    switch reply {
    case .portal(isCaptive: true): self.init(.passing, [.captivePortal: .known(true), .internet: .known(false)])
    case .portal(isCaptive: false): self.init(.settled, [.captivePortal: .known(false)])
    case .response(let status, _): self = nothing(status == 200 ? "does not say whether it is closed" : "was answered \(status)")
    case .impostor(let reason), .unanswered(let reason): self = nothing("was not answered: \(reason)")
    case .unsent(let reason): self = nothing("cannot be asked: \(reason)")
    }
  }
}

extension ConnectivityCheck {
  fileprivate func isMet(by status: Int, _ body: [UInt8]) -> Bool {
    guard let content else { return status == 204 }
    return status == 200 && body.starts(with: content.utf8)
  }
}

extension ProbeReply {
  /// The result for people, after "fail:" or "unknown:". `nil` for the expected answer.
  package func text(for inquiry: Inquiry) -> String {
    switch self {
    case .response(let status, _):
      if case .probe(let probe) = inquiry, probe.status == status { return "answered \(status)" }
      return (300..<400).contains(status) ? "answered \(status), a redirect" : "answered \(status)"
    case .portal(let isCaptive): return isCaptive ? "the portal is closed" : "the portal is open"
    case .impostor(let reason), .unanswered(let reason), .unsent(let reason): return reason
    }
  }
}
