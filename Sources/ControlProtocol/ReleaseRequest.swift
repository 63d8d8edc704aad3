/// What `release` asks for: the firewall open, wholly or for a captive portal.
package struct ReleaseRequest: Hashable, Sendable {
  package var isPortal: Bool
  /// The control group (/proc/PID/cgroup, version 2) of the only programs that a portal is opened to.
  package var programs: String?
  package var until: HoldRequest.Until
  package var reason: String?

  package init(isPortal: Bool = false, programs: String? = nil, until: HoldRequest.Until = .networkChange, reason: String? = nil) {
    self.isPortal = isPortal
    self.programs = programs
    self.until = until
    self.reason = reason
  }

  var json: JSON {
    ["command": "release", "portal": .bool(isPortal), "programs": JSON(programs), "until": until.json, "reason": JSON(reason)]
  }

  init(_ json: JSON) throws(RequestError) {
    let hold = try HoldRequest(json)
    self.init(isPortal: json["portal"]?.bool ?? false, programs: json["programs"]?.string, until: hold.until, reason: hold.reason)
  }
}
