// A dashboard as Grafana's published schema has it, for JSON: enums are their values, and a panel's options are those of
// its kind. A field that the schema does not have is an error, except where data sources add their own.
import type {
  AnnotationQuery,
  Dashboard,
  FieldConfigSource,
  GraphFieldConfig,
  Panel,
  RowPanel,
} from "@grafana/schema";
import type * as heatmap from "@grafana/schema/dist/types/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen.d.ts";
import type * as stat from "@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen.d.ts";
import type * as statetimeline from "@grafana/schema/dist/types/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen.d.ts";
import type * as timeseries from "@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen.d.ts";

type Json<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}` extends `${infer N extends number}`
      ? N
      : number
    : T extends boolean | null | undefined
      ? T
      : T extends Array<infer Item>
        ? Array<Json<Item>>
        : T extends object
          ? { [Key in keyof T]: Json<T[Key]> }
          : T;

// A query of the Prometheus data source, which the schema leaves to the data source.
interface Query {
  refId: string;
  expr: string;
  datasource?: { type: "prometheus"; uid: string };
  format?: "time_series" | "table" | "heatmap";
  legendFormat?: string;
  instant?: boolean;
  range?: boolean;
}

// The schema has the options of each kind of panel apart from the panel.
type Of<Kind extends string, Options, Custom> = Json<
  Omit<Panel, "type" | "targets" | "options" | "fieldConfig"> & {
    options: Options;
    fieldConfig: { defaults: Omit<FieldConfigSource["defaults"], "custom"> & { custom?: Custom } } & Pick<
      FieldConfigSource,
      "overrides"
    >;
  }
> & { type: Kind; targets: Query[] };

// What the Prometheus data source reads of an annotation besides.
type Marks = Json<Omit<AnnotationQuery, "target">> & {
  expr: string;
  target: Query;
  titleFormat: string;
  textFormat: string;
  tagKeys: string;
  useValueForTime: boolean;
};

export type Checked = Json<Omit<Dashboard, "panels" | "annotations">> & {
  panels: Array<
    | Json<RowPanel>
    | Of<"timeseries", timeseries.Options, GraphFieldConfig>
    | Of<"stat", Partial<stat.Options>, never>
    | Of<"heatmap", Partial<heatmap.Options>, heatmap.FieldConfig>
    | Of<"state-timeline", Partial<statetimeline.Options>, statetimeline.FieldConfig>
  >;
  annotations: { list: Marks[] };
};
