/// What `release` asks for: the firewall open, wholly or for a captive portal.
package struct ReleaseRequest: Hashable, Sendable {
  package var isPortal: Bool
  package var until: HoldRequest.Until
  package var reason: String?

  package init(isPortal: Bool = false, until: HoldRequest.Until = .networkChange, reason: String? = nil) {
    self.isPortal = isPortal
    self.until = until
    self.reason = reason
  }

  var json: JSON { ["command": "release", "portal": .bool(isPortal), "until": until.json, "reason": JSON(reason)] }

  init(_ json: JSON) throws(RequestError) {
    let hold = try HoldRequest(json)
    self.init(isPortal: json["portal"]?.bool ?? false, until: hold.until, reason: hold.reason)
  }
}
