package import JSON

/// A client's request to the agent: one JSON object on a line, such as `{"version":2,"request":{"resume":{"tunnel":"corp"}}}`.
package enum Request: Equatable, Sendable, Codable {
  /// The state of the agent (`StatusReport`).
  case status
  /// The state of the agent, and what it has counted (`MetricsReport`).
  case metrics
  /// The network as the last pass observed it, with the sources of its facts.
  case network
  /// A reply, and then events, a line each, as long as the client stays connected. With `snapshots`, also every observed network, whole:
  /// `simulate` can replay them.
  case monitor(snapshots: Bool = false)
  /// Sets a manual override for the tunnel.
  case override(tunnel: String, OverrideRequest)
  /// The same, upwards, with options for the tunnel's provider.
  case start(tunnel: String, OverrideRequest, StartOptions)
  /// Ends the override of one tunnel, or of all.
  case resume(tunnel: String?)
  /// Suspends the kill switch, or opens a portal window.
  case release(ReleaseRequest)
  /// Begins a guard: the caller becomes its program after the reply.
  case `guard`(GuardRequest)
  /// Gives the caller's packets a route of their own: the caller becomes its program after the reply.
  case run(RunRequest)
  /// Reads the policies again, as SIGHUP does.
  case reload
  /// Activates policies, permanently or on trial.
  case apply(ApplyRequest)
  /// Sends a message to a tunnel's provider; the reply is the provider's.
  case message(tunnel: String, content: JSON)
  /// Answers a question of a tunnel's provider: the first open one, or that of this number. Without an answer it is declined.
  case answer(tunnel: String, question: Int? = nil, answer: String?)
  /// Makes the policies on trial permanent.
  case confirm
  /// Ends the trial: the previous policies are active again.
  case revert

  private enum OverrideCodingKeys: String, CodingKey {
    case tunnel
    case _1 = "override"
  }

  private enum StartCodingKeys: String, CodingKey {
    case tunnel
    case _1 = "override"
    case _2 = "options"
  }

  private enum ReleaseCodingKeys: String, CodingKey {
    case _0 = "suspension"
  }

  private enum GuardCodingKeys: String, CodingKey {
    case _0 = "program"
  }

  private enum RunCodingKeys: String, CodingKey {
    case _0 = "program"
  }

  private enum ApplyCodingKeys: String, CodingKey {
    case _0 = "policies"
  }

  package var json: JSON { JSON(encoding: Envelope(request: self)) }

  package init(_ json: JSON) throws(RequestError) {
    let version = json["version"]?.integer
    guard version == ControlSocket.version else {
      let other = version.map { "protocol version \($0)" } ?? "no protocol version"
      throw RequestError(
        code: .otherVersion,
        message: "the request has \(other), but this agent uses version \(ControlSocket.version): "
          + "install agent and command line of the same release, then restart roamwardd")
    }
    do throws(JSONMismatch) {
      self = try json.decoded(as: Envelope.self).request
    } catch {
      throw RequestError(code: .badRequest, message: "invalid request: \(error)")
    }
    if case .apply(let request) = self { try request.check() }
    if case .guard(let request) = self { try request.check() }
    if case .run(let request) = self { try request.check() }
    if case .start(_, _, let options) = self { try options.check() }
  }

  private struct Envelope: Codable {
    var version = ControlSocket.version
    var request: Request
  }
}

/// The reason why a request was refused.
package struct RequestError: Error, Equatable, Sendable, Codable {
  package enum Code: String, Equatable, Sendable, Codable {
    /// The request is malformed or too long, or the agent is stopping.
    case badRequest = "bad-request"
    /// The client is of another release.
    case otherVersion = "other-version"
    /// The caller has no permission for changes.
    case notAllowed = "not-allowed"
    /// No policy describes this tunnel.
    case noSuchTunnel = "no-such-tunnel"
    /// The tunnel is disabled by its policy.
    case disabled
    /// It would end a session that the caller asked to protect.
    case wouldCut = "would-cut"
    /// Policies have errors.
    case badPolicy = "bad-policy"
    /// The policies have not been read yet: the agent still removes leftover state.
    case starting
    /// There is no trial to confirm, or a trial is active already.
    case trial
    /// The tunnel's provider refused it, or did not answer.
    case provider
    /// The machine could not execute it.
    case failed
  }

  package let code: Code
  package let message: String

  package init(code: Code, message: String) {
    self.code = code
    self.message = message
  }
}

/// The agent's answer: one JSON object on a line.
package enum Reply: Equatable, Sendable {
  case done(JSON)
  case refused(RequestError)

  package var json: JSON {
    switch self {
    case .done(let result): JSON(encoding: Envelope(result: result))
    case .refused(let error): JSON(encoding: Envelope(error: error))
    }
  }

  /// Parses a reply. Throws if it is not a reply of this version of the protocol; the error says so to people.
  package init(_ json: JSON) throws(JSONMismatch) {
    let envelope = try json.decoded(as: Envelope.self)
    if envelope.version != ControlSocket.version {
      throw JSONMismatch(
        at: [],
        "the agent uses protocol version \(envelope.version), but this program version \(ControlSocket.version): "
          + "restart the agent with `systemctl restart roamwardd`")
    }
    if let error = envelope.error {
      self = .refused(error)
    } else if let result = envelope.result {
      self = .done(result)
    } else {
      throw JSONMismatch(at: [], "the reply has neither a result nor an error")
    }
  }

  private struct Envelope: Codable {
    var version = ControlSocket.version
    var result: JSON?
    var error: RequestError?
  }
}
