import GatewayCore
import KernelModel
import NetworkTypes

/// The head of a request of HTTP (RFC 9110), as the library has parsed it. Every text is a stranger's.
package struct PageHead: Hashable, Sendable {
  package struct Field: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  package var method: String
  /// Without the arguments.
  package var path: String
  package var arguments: [Field]
  package var fields: [Field]

  package init(_ method: String, _ path: String, arguments: [Field] = [], fields: [Field] = []) {
    self.method = method
    self.path = path
    self.arguments = arguments
    self.fields = fields
  }

  /// The value of a field that occurs once; `nil`: there is none, or several. Letter case of names is ignored (section 5.1).
  func only(_ name: String) -> String? {
    let values = fields.filter { $0.name.lowercased() == name }
    return values.count == 1 ? values[0].value : nil
  }

  func has(_ name: String) -> Bool { fields.contains { $0.name.lowercased() == name } }
}

/// A file of the page.
package enum PageFile: String, Hashable, Sendable, CaseIterable {
  /// The page.
  case document = "/"
  /// Its script.
  case script = "/page.js"
  /// Its style.
  case style = "/page.css"

  package var type: String {
    switch self {
    case .document: "text/html; charset=utf-8"
    case .script: "text/javascript; charset=utf-8"
    case .style: "text/css; charset=utf-8"
    }
  }
}

/// The meaning of an HTTP request.
package enum PageRoute: Hashable, Sendable {
  case file(PageFile)
  case ask(PageQuestion)
  /// `status`: of HTTP. `reason`: for the person.
  case refuse(status: UInt16, reason: String)
}

/// Leads each request to a file or a question, or refuses it.
///
/// The page has no cookies and no passwords: WireGuard has authenticated the source address. So other sites' pages in the person's browser
/// must not be able to ask in the person's name. `Host` has to be one of the page's own names: a stranger's name that suddenly has the
/// page's address (DNS rebinding) is none of them. A change needs the page's own origin and a field that no form can send, and that a
/// script of another site may send only after a question that is refused (CORS, Fetch Standard section 4.8).
package struct PageRouter: Hashable, Sendable {
  /// The field that the page's script sends with every question.
  package static let marker = "x-roamward-page"

  private let hosts: Set<String>

  package init(hosts: [String]) { self.hosts = Set(hosts.map { $0.lowercased() }) }

  package func route(_ head: PageHead) -> PageRoute {
    guard let host = head.only("host")?.lowercased(), hosts.contains(host) else {
      return .refuse(status: 421, reason: "this page has another name")
    }
    // Questions are arguments: no body is read.
    if head.has("transfer-encoding") || head.has("content-length") && head.only("content-length") != "0" {
      return .refuse(status: 413, reason: "requests with a body are refused")
    }
    if let file = PageFile(rawValue: head.path) {
      return head.method == "GET" || head.method == "HEAD" ? .file(file) : .refuse(status: 405, reason: "only GET is possible here")
    }
    let methods = Self.methods(of: head.path)
    if methods.isEmpty { return .refuse(status: 404, reason: "there is no such page") }
    guard methods.contains(head.method) else { return .refuse(status: 405, reason: "this method is not possible here") }
    // Browsers that know the field say where a request comes from; it cannot be set by a script.
    if let site = head.only("sec-fetch-site"), site != "same-origin" { return .refuse(status: 403, reason: "asked by another site") }
    guard head.only(Self.marker) != nil else { return .refuse(status: 403, reason: "the field \(Self.marker) is missing") }
    guard let question = question(head) else { return .refuse(status: 400, reason: "an argument is missing, or has a wrong form") }
    if question.isChange, head.only("origin")?.lowercased() != "http://\(host)" {
      return .refuse(status: 403, reason: "asked by another site")
    }
    return .ask(question)
  }

  private static func methods(of path: String) -> [String] {
    switch path {
    case "/api/me", "/api/link", "/api/admin/devices", "/api/admin/groups", "/api/admin/rules", "/api/admin/audit", "/api/admin/access":
      ["GET"]
    case "/api/devices", "/api/admin/locks": ["POST", "DELETE"]
    case "/api/admin/invitations": ["POST"]
    case "/api/admin/sessions": ["DELETE"]
    default: []
    }
  }

  private func question(_ head: PageHead) -> PageQuestion? {
    // Each argument once: two values would be understood in two ways.
    let names = head.arguments.map(\.name)
    guard Set(names).count == names.count else { return nil }
    func argument(_ name: String) -> String? {
      head.arguments.first { $0.name == name }.flatMap { $0.value.isEmpty ? nil : $0.value }
    }
    switch head.path {
    case "/api/me": return .me
    case "/api/link": return .link
    case "/api/admin/rules": return .rules
    case "/api/admin/groups":
      let search = argument("search") ?? ""
      return PageQuestion.isText(search, upTo: PageQuestion.searchLimit) ? .groups(search: search) : nil
    case "/api/admin/audit": return .audit
    case "/api/admin/devices":
      let (search, connected) = (argument("search") ?? "", argument("connected"))
      guard PageQuestion.isText(search, upTo: PageQuestion.searchLimit), connected == nil || connected == "1" else { return nil }
      return .devices(search: search, isConnected: connected != nil)
    case "/api/admin/sessions": return argument("device").flatMap { DevicePath($0) }.map { .endSession($0) }
    case "/api/admin/invitations": return argument("user").flatMap { GatewayName($0) }.map { .invite($0) }
    case "/api/admin/locks":
      guard let user = argument("user").flatMap({ GatewayName($0) }) else { return nil }
      if head.method == "DELETE" { return .unlock(user) }
      let reason = argument("reason") ?? ""
      return PageQuestion.isText(reason, upTo: PageQuestion.reasonLimit) ? .lock(user, reason: reason) : nil
    case "/api/admin/access":
      guard let user = argument("user").flatMap({ GatewayName($0) }), let text = argument("to"), let (address, port) = destination(text)
      else { return nil }
      let transport = argument("protocol").map { Transport(rawValue: $0) } ?? (port == nil ? .icmp : .tcp)
      guard let transport, transport != .any else { return nil }
      return .access(user: user, destination: address, transport: transport, port: port)
    default:
      guard let name = argument("name").flatMap({ GatewayName($0) }) else { return nil }
      if head.method == "DELETE" { return .removeDevice(name) }
      guard let text = argument("key") else { return .addDevice(name, publicKey: nil) }
      guard let key = bytes(fromBase64: text).flatMap({ WireGuardKey(bytes: $0) }) else { return nil }
      return .addDevice(name, publicKey: key)
    }
  }

  private func destination(_ text: String) -> (IPAddress, UInt16?)? {
    if let address = IPAddress(text) { return (address, nil) }
    return Endpoint(text).flatMap { endpoint in endpoint.address.map { ($0, endpoint.port) } }
  }
}
