package import GatewayCore
package import JSON
package import NetworkTypes

/// The page's first answer to everybody: the person, the asking device, and the person's devices.
package struct PageReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var time: Timestamp
  package var title: String?
  package var gateway: String
  package var user: String
  package var device: String
  package var administrator: Bool
  package var `operator`: Bool
  package var logins: Bool
  package var routes: [String]
  package var limit: Int64
  package var devices: [DeviceReport]

  private enum CodingKeys: String, DescribedKey {
    case version, time, title, gateway, user, device, administrator, `operator`, logins, routes, limit, devices

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .time: "The time of this answer."
      case .title: "The title of the page, else its first name; null: it has neither."
      case .gateway: "The name of the gateway."
      case .user: "The user who asks."
      case .device: "The device that asks."
      case .administrator: "Whether the user may lock and invite users as well."
      case .operator: "Whether the user may see everything, and end sessions."
      case .logins: "Whether the gateway takes logins, so that there is a link for them."
      case .routes: "The prefixes that this device sends through the tunnel, as the gateway has set them."
      case .limit: "The number of devices that the user may have."
      case .devices: "The devices of the user, sorted by name."
      }
    }
  }

  /// The schema of every answer of the page, besides that of all devices, which is the one of `status --json`.
  static func schemaOfAnswers() throws -> JSON {
    [
      "anyOf": [
        try JSON.schema(of: PageReport.self), try JSON.schema(of: AddedDeviceReport.self), try JSON.schema(of: GroupsReport.self),
        try JSON.schema(of: AccessReport.self), try JSON.schema(of: AuditReport.self), try JSON.schema(of: RulesReport.self),
        try JSON.schema(of: LinkReport.self),
      ]
    ]
  }
}

extension GatewayStatus {
  /// The person's own devices, and the tunnel of the asking one.
  package func page(of asker: PageAsker, _ settings: PageSettings?, takesLogins: Bool = false) -> PageReport {
    PageReport(
      time: now, title: settings?.title ?? settings?.names.first, gateway: "\(directory.site?.name ?? asker.user.name)",
      user: "\(asker.user.name)", device: "\(asker.device.name)", administrator: asker.role >= .administrator,
      operator: asker.role >= .operator, logins: takesLogins, routes: asker.device.routes(in: directory).map(\.description),
      limit: directory.deviceLimit(of: asker.user.id), devices: reports(of: directory.devices(of: asker.user.id)))
  }
}

/// The answer to a person who has added a device. It alone has the private key.
package struct AddedDeviceReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var device: String
  package var secret: Bool
  package var file: String
  package var code: [String]?

  package init(device: String, secret: Bool, file: String, code: [String]?) {
    self.device = device
    self.secret = secret
    self.file = file
    self.code = code
  }

  private enum CodingKeys: String, DescribedKey {
    case version, device, secret, file, code

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .device: "The name of the new device."
      case .secret: "Whether the file has the private key; false: the device has made it."
      case .file: "The file of a stock WireGuard client."
      case .code: "The rows of the file's QR code, 1 is dark; null: the file has no private key, or is too long for a code."
      }
    }
  }
}

/// The link by which a person logs in from another computer; or an invitation, which is the same with a token.
package struct LinkReport: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var user: String
  package var link: String
  package var code: [String]?
  package var new: Bool
  package var token: Int64?
  package var until: Timestamp?

  /// - Parameter invitation: `nil`: the link has no token.
  package init(user: GatewayName, link: String, code: [String]?, invitation: Invitation? = nil) {
    self.user = user.description
    self.link = link
    self.code = code
    new = invitation?.isNew ?? false
    token = invitation?.token
    until = invitation?.until
  }

  private enum CodingKeys: String, DescribedKey {
    case version, user, link, code, new, token, until

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .user: "The user who logs in with it."
      case .link: "The link, as `roamward login` takes it."
      case .code: "The rows of the link's QR code, 1 is dark; null: it is too long for a code."
      case .new: "Whether the user was added for this invitation."
      case .token: "The number of the token in the link; null: it has none, and is no secret."
      case .until: "The time at which the link's token ends; null: it has none."
      }
    }
  }
}
