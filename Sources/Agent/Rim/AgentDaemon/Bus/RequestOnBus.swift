package import ControlProtocol
internal import NetworkTypes
package import SystemdIO

/// The request of a method call of D-Bus. `tunnel`: the object's; `nil`: the topmost object. The types of the arguments have been checked.
package func requestOnBus(_ method: String, _ values: [BusValue], tunnel: String?) throws(RequestError) -> Request {
  func text(_ place: Int) -> String? { values[place].text.flatMap { $0.isEmpty ? nil : $0 } }
  switch (method, tunnel) {
  case ("Up", let tunnel?), ("Down", let tunnel?):
    let override = OverrideRequest(wantsUp: method == "Up", until: try lifetime(values), reason: text(2))
    return .override(tunnel: tunnel, override)
  case ("Resume", let tunnel): return .resume(tunnel: tunnel)
  case ("Answer", let tunnel?):
    let number = values[0].unsigned.map { Int($0) } ?? 0
    return .answer(tunnel: tunnel, question: number == 0 ? nil : number, answer: text(1))
  case ("OpenPortal", nil):
    let seconds = values[0].unsigned ?? 0
    return .release(
      ReleaseRequest(isPortal: true, until: seconds == 0 ? .networkChange : try time(seconds), reason: text(1)))
  case ("SuspendKillSwitch", nil): return .release(ReleaseRequest(until: try lifetime(values), reason: text(2)))
  case ("Apply", nil):
    let files = (values[0].list ?? []).map { ApplyRequest.File(name: $0[0]?.text ?? "", text: $0[1]?.text ?? "") }
    let seconds = values[1].unsigned ?? 0
    let request = ApplyRequest(files: files, confirmWithin: seconds == 0 ? nil : .seconds(Int64(clamping: min(seconds, 1 << 32))))
    // The same checks as at the local socket.
    return try Request(Request.apply(request).json)
  case ("Confirm", nil): return .confirm
  case ("Revert", nil): return .revert
  default: throw RequestError(code: .badRequest, message: "the agent has no method \(method) there")
  }
}

private func lifetime(_ values: [BusValue]) throws(RequestError) -> Lifetime {
  switch values[0].text {
  case "network": return .networkChange
  case "resume": return .resume
  case "time": return try time(values[1].unsigned ?? 0)
  case let other:
    throw RequestError(code: .badRequest, message: "`until` is \"\(escaped(other ?? ""))\"; write network, resume, or time with `seconds`")
  }
}

private func time(_ seconds: UInt64) throws(RequestError) -> Lifetime {
  guard seconds > 0, seconds <= UInt64(Lifetime.longest.components.seconds) else {
    throw RequestError(code: .badRequest, message: "`seconds` is \(seconds); write a duration from 1 second to a year")
  }
  return .seconds(Int64(seconds))
}

extension RequestError {
  /// Its name on D-Bus: `net.roamward.Agent1.Error.NotAllowed`.
  package var nameOnBus: String {
    let words = code.rawValue.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
    return "\(AgentInterface.service).Error.\(words.joined())"
  }
}
