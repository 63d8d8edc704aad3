/// What a client asks of the agent: one JSON object on a line.
package enum Request: Hashable, Sendable {
  case status
  /// The network as the last pass saw it, with where its facts come from.
  case network
  /// A reply, and then events, a line each, for as long as the client stays.
  /// With `snapshots`, also every network that is seen, whole: what `simulate` can live through again.
  case monitor(snapshots: Bool = false)
  /// Holds the tunnel up or down.
  case hold(tunnel: String, HoldRequest)
  /// Ends the hold on one tunnel, or all of them.
  case resume(tunnel: String?)
  /// Opens the firewall, wholly or for a portal.
  case release(ReleaseRequest)
  /// Reads the policies again, as SIGHUP does.
  case reload
  /// Puts policies in force, for good or on trial.
  case apply(ApplyRequest)
  /// Keeps the policies on trial, or takes them back.
  case confirm
  case revert

  /// Whether it changes anything, and so needs the right to.
  package var isChange: Bool {
    switch self {
    case .status, .network, .monitor: false
    case .hold, .resume, .release, .reload, .apply, .confirm, .revert: true
    }
  }

  package var json: JSON {
    switch self {
    case .status: ["command": "status"]
    case .network: ["command": "network"]
    case .monitor(let snapshots): ["command": "monitor", "snapshots": .bool(snapshots)]
    case .hold(let tunnel, let hold): hold.json(of: tunnel)
    case .resume(let tunnel): ["command": "resume", "tunnel": JSON(tunnel)]
    case .release(let release): release.json
    case .reload: ["command": "reload"]
    case .apply(let request): request.json
    case .confirm: ["command": "confirm"]
    case .revert: ["command": "revert"]
    }
  }

  package init(_ json: JSON) throws(RequestError) {
    let tunnel = json["tunnel"]?.string
    switch (json["command"]?.string, tunnel) {
    case ("status", _): self = .status
    case ("network", _): self = .network
    case ("monitor", _): self = .monitor(snapshots: json["snapshots"]?.bool ?? false)
    case ("up", let tunnel?), ("down", let tunnel?): self = .hold(tunnel: tunnel, try HoldRequest(json))
    case ("resume", let tunnel): self = .resume(tunnel: tunnel)
    case ("release", _): self = .release(try ReleaseRequest(json))
    case ("reload", _): self = .reload
    case ("apply", _): self = .apply(try ApplyRequest(json))
    case ("confirm", _): self = .confirm
    case ("revert", _): self = .revert
    case ("up", nil), ("down", nil): throw RequestError(code: .badRequest, message: "the command needs a tunnel's name")
    case (let command?, _): throw RequestError(code: .badRequest, message: "unknown command \"\(command)\"")
    case (nil, _): throw RequestError(code: .badRequest, message: "the request names no command")
    }
  }
}

/// Why a request was refused.
package struct RequestError: Error, Hashable, Sendable {
  package enum Code: String, Hashable, Sendable {
    case badRequest = "bad-request"
    case notAllowed = "not-allowed"
    case noSuchTunnel = "no-such-tunnel"
    case disabled
    /// It would end a session that the caller has said must not end.
    case wouldCut = "would-cut"
    /// Policies have errors.
    case badPolicy = "bad-policy"
    /// The policies have not been read yet: the agent still ends what another has left.
    case starting
    /// There is no trial, or there is one already.
    case trial
    /// The machine would not do it.
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
package enum Reply: Hashable, Sendable {
  case done(JSON)
  case refused(RequestError)

  package var json: JSON {
    switch self {
    case .done(let result): ["version": 1, "result": result]
    case .refused(let error): ["version": 1, "error": ["code": .string(error.code.rawValue), "message": .string(error.message)]]
    }
  }

  package init?(_ json: JSON) {
    if let result = json["result"] {
      self = .done(result)
    } else if let message = json["error"]?["message"]?.string {
      self = .refused(RequestError(code: json["error"]?["code"]?.string.flatMap(RequestError.Code.init) ?? .badRequest, message: message))
    } else {
      return nil
    }
  }
}

extension JSON: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member(key: $0.0, value: $0.1) }) }
}
