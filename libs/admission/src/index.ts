export { AdmissionModule } from './admission.module';
export {
  ADMISSION_OPTIONS,
  type AdmissionOptions,
  type EntryOptions,
  type SchedulerOptions,
} from './admission.options';
