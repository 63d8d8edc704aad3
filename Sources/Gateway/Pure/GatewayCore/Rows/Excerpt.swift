package import NetworkTypes

/// The rows that a request needs: all of them, or those of a few users.
///
/// Always the gateway, groups, pools, rules with the users that they name, and the settings of everybody and of groups. Besides, the named
/// users with all that belongs to them, and the devices that have the given addresses, with their users. A request that needs other rows
/// fails its precondition (`Directory.isWhole`).
package enum Excerpt: Hashable, Sendable {
  case everything
  case users([GatewayName], addresses: [IPAddress] = [])
}
