import { type TableRow } from './option-table';
import { type AvailableOption } from './option';

type AvailableRow = Extract<TableRow, { readonly availability: 'available' }>;

type SectionName = AvailableRow['key'] extends infer K
  ? K extends `${infer S}.${string}`
    ? S
    : never
  : never;

type ValueOf<Row> = Row extends AvailableOption<string, infer V> ? V : never;

/**
 * The effective configuration, computed from the option table: one section per chapter of the
 * program, one member per available option. Deeply frozen. A lib gets the section it needs.
 */
export type GatewayConfig = {
  readonly [S in SectionName]: {
    readonly [
      Row in AvailableRow as Row['key'] extends `${S}.${infer Name}` ? Name : never
    ]: ValueOf<Row>;
  };
};

/** What a program that embeds the gateway may give: any members of any sections. */
export type PartialGatewayConfig = {
  readonly [S in SectionName]?: {
    readonly [Name in keyof GatewayConfig[S]]?: GatewayConfig[S][Name] | undefined;
  };
};
