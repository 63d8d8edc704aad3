/// Why something happened, as a code that stays the same from version to version: in the journal (`ROAMWARD_REASON=`) and in events. It names no
/// place and no person.
package enum ReasonCode: String, Hashable, Sendable, CaseIterable {
  /// Another program changed or removed the kill switch's table.
  case killSwitchChanged = "kill-switch-changed"
  /// Another program removed routing rules of the tunnels, or added some with Roamward's mark.
  case rulesChanged = "rules-changed"
  /// Another program changed routes of the tunnels' tables.
  case routesChanged = "routes-changed"
  /// Another program removed a tunnel's link, took it down or changed its settings.
  case linkChanged = "link-changed"
}
